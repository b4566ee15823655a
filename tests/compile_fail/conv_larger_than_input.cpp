// error: window_larger_than_input at_layer<1> along::height expects<26> gets<27>
// A kernel larger than what it moves over.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 4, 3>, Conv2d<4, 4, 26>, Flatten>;
#else
using Net = Sequential<Conv2d<1, 4, 3>, Conv2d<4, 4, 27>, Flatten>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
