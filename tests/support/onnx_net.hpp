// A net with every layer, for what is exported to ONNX; tests/golden/make_onnx_golden.py has the same.
#pragma once
#include "kern/graph/model.hpp"
#include "kern/nn/nn.hpp"

namespace kern::testing {

using EveryLayer = nn::Sequential<
    nn::Named<
        "features",
        nn::Sequential<nn::Named<"conv1", nn::Conv2d<3, 4, 3, 1, 1>>, nn::ReLU,
                       nn::MaxPool2d<Size2{2, 3}, Size2{2, 1}, Size2{0, 1}>,
                       nn::Conv2d<4, 4, Size2{1, 2}, Size2{1, 2}, 0, nn::Bias::off>, nn::LeakyReLU<0.02>,
                       nn::AvgPool2d<3, 1, 1>, nn::ELU<0.5>, nn::AvgPool2d<3, 1, 1, nn::CountPadding::off>,
                       nn::SiLU, nn::Dropout2d<>, nn::AdaptiveAvgPool2d<Size2{4, 3}>, nn::Tanh,
                       nn::AdaptiveAvgPool2d<Size2{2, 3}>, nn::GELU<>,
                       nn::Conv2d<4, 6, 2, 1, 1, nn::Groups{2}, nn::Dilation{2, 3}>, nn::Hardswish,
                       nn::LayerNorm<6, 2, 2>, nn::GlobalAvgPool2d, nn::Named<"bn", nn::BatchNorm2d<6>>>>,
    nn::Identity, nn::Flatten, nn::Named<"fc1", nn::Linear<6, 5>>, nn::GELU<nn::Approximate::tanh>,
    nn::Sigmoid, nn::Softmax, nn::Dropout<>, nn::Linear<5, 4, nn::Bias::off>,
    nn::BatchNorm1d<4, 1e-3, 0.1, nn::Affine::off>, nn::LayerNorm<4, 1e-2>, nn::LogSoftmax>;

/// Its parameters: element i of parameter p is ((7 i + 3 p) mod 17 - 8) / 4; of the running means and
/// variances number p, of variances 2.0625 more.
template <class Model>
void set_parameters(Model& model) {
  using T = typename Model::Element;
  int p = 0;
  for (const std::string& name : model.parameter_names()) {
    std::vector<T> values = model.parameter(name);
    int i = 0;
    for (T& v : values) v = T((7 * i++ + 3 * p) % 17 - 8) / 4;
    model.set_parameter(name, values);
    ++p;
  }
  p = 0;
  for (const std::string& name : model.buffer_names()) {
    std::vector<T> values = model.buffer(name);
    int i = 0;
    for (T& v : values) v = T((7 * i++ + 3 * p) % 17 - 8) / 4 + T(name.ends_with("var") ? 2.0625 : 0);
    model.set_buffer(name, values);
    ++p;
  }
}

}  // namespace kern::testing
