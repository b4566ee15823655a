// error: conv_needs_an_image_not_a_flat_input at_layer<1> expects<3> gets<1>
// A convolution over a flat input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 4, 1>, Flatten>;
#else
using Net = Sequential<Flatten, Conv2d<784, 4, 1>>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
