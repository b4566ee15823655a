// error: the elements of the samples are not of the model's type
// A double model and float samples.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Element = double;
#else
using Element = float;
#endif

int main() {
  Model<Sequential<Linear<4, 3>>, Input<4>, Host, double> model;
  const Tensor<Element, Shape<5, 4>> x;
  return model.predict(x)(0, 2) > 0;
}
