// error: batch_shape_mismatch along::width expects<28> gets<32>
// Samples of another size than the net's input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
constexpr int width = 28;
#else
constexpr int width = 32;
#endif

int main() {
  Model<Sequential<Flatten, Linear<784, 10>>, Input<1, 28, 28>> model;
  const Tensor<float, Shape<5, 1, 28, width>> x;
  return model.predict(x)(0, 3) > 0;
}
