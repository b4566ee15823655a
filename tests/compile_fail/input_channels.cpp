// error: conv_in_channels_mismatch at_layer<0> expects<1> gets<3>
// The first layer against the input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 8, 3>, Flatten>;
#else
using Net = Sequential<Conv2d<3, 8, 3>, Flatten>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
