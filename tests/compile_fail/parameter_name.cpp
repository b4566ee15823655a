// error: no_parameter_is_called fc.wieght there_is fc.weight fc.bias conv.weight
// A slip in a parameter's name.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

using Net = Sequential<Named<"conv", Conv2d<1, 10, 28>>, Flatten, Named<"fc", Linear<10, 10>>>;

int main() {
  Model<Net, Input<1, 28, 28>> model;
#ifdef FIXED
  const auto w = model.parameter<"fc.weight">();
#else
  const auto w = model.parameter<"fc.wieght">();
#endif
  return w.size() == 0;
}
