// error: residual_layers_change_the_shape at_layer<4> 1 along::channels expects<16> gets<32>
// expects_shape<16, 26, 26> gets_shape<32, 26, 26>
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 16, 3>, Residual<Conv2d<16, 32, 3, 1, 1>, ReLU, Conv2d<32, 16, 3, 1, 1>>>;
#else
using Net = Sequential<Conv2d<1, 16, 3>, Residual<Conv2d<16, 32, 3, 1, 1>, ReLU, Conv2d<32, 32, 3, 1, 1>>>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
