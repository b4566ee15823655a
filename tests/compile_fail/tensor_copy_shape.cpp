// error: tensor_shapes_differ Shape<2, 3> Shape<3, 2>
// A copy between tensors whose shapes are known and differ.
#include <kern/tensor/tensor.hpp>
using namespace kern;

#ifdef FIXED
using From = Shape<2, 3>;
#else
using From = Shape<3, 2>;
#endif

int main() {
  Tensor<float, Shape<2, 3>> to;
  const Tensor<float, From> from{1, 2, 3, 4, 5, 6};
  to.copy_from(from);
}
