// error: linear_in_features_mismatch at_layer<4> fc expects<1352> gets<1024>
// Facts about a net that doesn't fit are no further errors.
#include <cstdio>
#include <kern/graph/explain.hpp>
#include <kern/graph/facts.hpp>
#include <kern/graph/model.hpp>
#include <kern/graph/summary.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
constexpr int features = 1352;
#else
constexpr int features = 1024;
#endif
using Net = Sequential<Conv2d<1, 8, 3>, ReLU, MaxPool2d<2>, Flatten, Named<"fc", Linear<features, 10>>>;
using Image = Input<1, 28, 28>;
static_assert(param_count<Net, Image> == 13610);
static_assert(shape_after<Net, Image, 2> == Dims{8, 13, 13} &&
              shape_after<Net, Image> == Dims{10, 1, 1, true});
static_assert(flop_count<Net, Image> == 2 * (26 * 26 * 8 * 9 + 13520));

int main() {
  std::printf("%s%s", summary<Net, Image>().c_str(), explain<Net, Image>().c_str());
  Model<Net, Image> model;
  const Tensor<float, Shape<3, 1, 28, 28>> x;
  const auto scores = model.predict(x);
  return scores(0, model.classify(x[1])) > 0;
}
