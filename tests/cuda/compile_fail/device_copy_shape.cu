// error: tensor_shapes_differ Shape<2, 3> Shape<3, 2>
#include <kern/cuda/tensor.hpp>

using namespace kern;

void copy(Tensor<float, Shape<2, 3>, Cuda>& t) {
#ifdef FIXED
  t.copy_from(Tensor<float, Shape<2, 3>>());
#else
  t.copy_from(Tensor<float, Shape<3, 2>>());
#endif
}
