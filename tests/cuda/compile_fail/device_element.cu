// error: device_element.cu no operator matches
#include <kern/cuda/tensor.hpp>

using namespace kern;

float first(const Tensor<float, Shape<2, 3>, Cuda>& t) {
#ifdef FIXED
  return t[0][0].item();
#else
  return t.data()[0];
#endif
}
