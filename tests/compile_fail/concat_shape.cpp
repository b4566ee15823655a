// error: concat_branches_differ_in_more_than_channels at_layer<5> 1 along::height expects<28> gets<26>
// expects_shape<24, 28, 28> gets_shape<4, 26, 26> The third branch lacks the padding of the others.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
constexpr int padding = 1;
#else
constexpr int padding = 0;
#endif
using Net = Sequential<Conv2d<1, 16, 3, 1, 1>,
                       Concat<Identity, Conv2d<16, 8, 5, 1, 2>, Conv2d<16, 4, 3, 1, padding>>, Flatten>;

int main() { Model<Net, Input<1, 28, 28>> model; }
