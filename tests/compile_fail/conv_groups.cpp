// error: conv_in_channels_not_divisible_by_groups at_layer<2> expects<16> gets<3>
// 3 groups of 16 input channels.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 12, 3, 1, 1, Groups{4}>>;
#else
using Net = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 12, 3, 1, 1, Groups{3}>>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
