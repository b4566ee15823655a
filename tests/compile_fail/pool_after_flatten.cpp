// error: pool_needs_an_image_not_a_flat_input at_layer<1> expects<3> gets<1>
// A pooling over a flat input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<MaxPool2d<2>, Flatten>;
#else
using Net = Sequential<Flatten, MaxPool2d<2>>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
