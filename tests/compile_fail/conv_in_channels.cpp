// error: conv_in_channels_mismatch at_layer<2> features.second expects<16> gets<3>
// In a nested Sequential: the dotted name says where.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net =
    Sequential<Named<"features", Sequential<Conv2d<1, 16, 3>, ReLU, Named<"second", Conv2d<16, 8, 3>>>>,
               Flatten>;
#else
using Net =
    Sequential<Named<"features", Sequential<Conv2d<1, 16, 3>, ReLU, Named<"second", Conv2d<3, 8, 3>>>>,
               Flatten>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
