// error: embedding_is_not_the_first_layer at_layer<1> words expects<0> gets<1>
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Named<"words", Embedding<100, 16>>, GlobalAvgPool2d, Flatten, Linear<16, 2>>;
#else
using Net = Sequential<ReLU, Named<"words", Embedding<100, 16>>, GlobalAvgPool2d, Flatten, Linear<16, 2>>;
#endif

int main() { Model<Net, Input<12>> model; }
