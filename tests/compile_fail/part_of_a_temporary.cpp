// error: operator
// A view of a tensor that is gone at the end of the line.
#include <kern/tensor/tensor.hpp>
using namespace kern;

int main() {
#ifdef FIXED
  const auto all = Tensor<float, Shape<3, 4>>::zeros();
  (void)all[0];
#else
  (void)Tensor<float, Shape<3, 4>>::zeros()[0];
#endif
}
