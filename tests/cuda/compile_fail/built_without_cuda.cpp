// error: static assertion compile this file with nvcc
#include <kern/cuda/cuda.hpp>

using namespace kern;

int main() {
#ifdef FIXED
  return cuda_facts().built;
#else
  const Tensor<float, Shape<2, 3>, Cuda> t;
  return sizeof t != 0;
#endif
}
