// error: reshape: the numbers of elements differ
// A reshape between known shapes of different sizes.
#include <kern/tensor/tensor.hpp>
using namespace kern;

#ifdef FIXED
using To = Shape<3, 2>;
#else
using To = Shape<4, 2>;
#endif

int main() {
  Tensor<float, Shape<2, 3>> t;
  t.reshape<To>()(0, 0) = 1;
}
