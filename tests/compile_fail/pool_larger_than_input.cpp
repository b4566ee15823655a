// error: window_larger_than_input at_layer<1> along::width expects<27> gets<28>
// A pooling window wider than its input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 4, 2>, MaxPool2d<Size2{2, 27}>, Flatten>;
#else
using Net = Sequential<Conv2d<1, 4, 2>, MaxPool2d<Size2{2, 28}>, Flatten>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
