// error: layer_norm_shape_mismatch at_layer<1> features.norm along::height expects<26> gets<28>
// The shape of the input, not of what stands before the layer.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Normalised = LayerNorm<16, 26, 26>;
#else
using Normalised = LayerNorm<16, 28, 28>;
#endif
using Net = Sequential<Named<"features", Sequential<Conv2d<1, 16, 3>, Named<"norm", Normalised>>>, Flatten>;

int main() { Model<Net, Input<1, 28, 28>> model; }
