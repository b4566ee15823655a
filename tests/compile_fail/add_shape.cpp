// error: add_branches_differ_in_shape at_layer<3> block along::height expects<14> gets<28> expects_shape<32,
// 14, 14> gets_shape<32, 28, 28> The second branch lacks the stride of the first.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
constexpr int stride = 2;
#else
constexpr int stride = 1;
#endif
using Net = Sequential<Conv2d<1, 16, 3, 1, 1>,
                       Named<"block", Add<Conv2d<16, 32, 3, 2, 1>, Conv2d<16, 32, 1, stride>>>, Flatten>;

int main() { Model<Net, Input<1, 28, 28>> model; }
