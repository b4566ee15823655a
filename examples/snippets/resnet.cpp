// A ResNet's blocks as types: docs/coming-from-pytorch.md.
#include <cstdio>
#include <kern/kern.hpp>
using namespace kern;
using namespace kern::nn;

// region block
template <int In, int Out, int Stride>
using Layers =
    Sequential<Named<"conv1", Conv2d<In, Out, 3, Stride, 1, Bias::off>>, Named<"bn1", BatchNorm2d<Out>>, ReLU,
               Named<"conv2", Conv2d<Out, Out, 3, 1, 1, Bias::off>>, Named<"bn2", BatchNorm2d<Out>>>;
template <int In, int Out, int Stride>
using Downsample = Sequential<Conv2d<In, Out, 1, Stride, 0, Bias::off>, BatchNorm2d<Out>>;

// Named<"", ...>: no level of the names, as forward() is none in PyTorch.
template <int Channels>
using Block = Sequential<Named<"", Residual<Named<"", Layers<Channels, Channels, 1>>>>, ReLU>;
template <int In, int Out>
using SmallerBlock =
    Sequential<Named<"", Add<Named<"", Layers<In, Out, 2>>, Named<"downsample", Downsample<In, Out, 2>>>>,
               ReLU>;

using ResNet = Sequential<Named<"conv1", Conv2d<3, 16, 3, 1, 1, Bias::off>>, Named<"bn1", BatchNorm2d<16>>,
                          ReLU, Named<"layer1", Sequential<Block<16>>>,
                          Named<"layer2", Sequential<SmallerBlock<16, 32>, Block<32>>>, GlobalAvgPool2d,
                          Flatten, Named<"fc", Linear<32, 10>>>;
// endregion

int main() {
  // region use
  Model<ResNet, Input<3, 32, 32>> model{Seed{0}};
  std::printf("%zu parameters\n", std::size_t(param_count<ResNet, Input<3, 32, 32>>));
  for (const char* name : {"layer1.0.bn2.bias", "layer2.0.downsample.0.weight", "layer2.1.conv1.weight"})
    std::printf("%s: %zu\n", name, model.parameter(std::string_view(name)).size());
  // endregion
}
