// error: predict: samples come from the host's memory: samples.to(Host{})
// A model on a device, and samples there.
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Where = Host;
#else
using Where = Cuda;
#endif

int main() {
  Model<Sequential<Linear<4, 3>>, Input<4>, Cuda> model;
  const Tensor<float, Shape<5, 4>, Where> x;
  return model.predict(x)(0, 2) > 0;
}
