// error: linear_needs_a_flatten_before_it at_layer<1> fc expects<1> gets<3>
// A linear layer over an image.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 4, 3>, Flatten, Named<"fc", Linear<2704, 10>>>;
#else
using Net = Sequential<Conv2d<1, 4, 3>, Named<"fc", Linear<2704, 10>>>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
