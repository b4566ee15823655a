// A second translation unit with the same net: everything in the headers may be defined twice.
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;
using Net = Sequential<Flatten, Named<"fc", Linear<4, 2>>, LogSoftmax>;

int parameters_of_other() {
  const Model<Net, Input<1, 2, 2>> model{Seed{1}};
  return int(model.parameter("fc.weight").size() + model.parameter("fc.bias").size());
}
