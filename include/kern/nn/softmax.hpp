#pragma once
#include "layer.hpp"

namespace kern::nn {

/// y = exp x / sum of exp x over the features, or over the channels at each place of an image (PyTorch's
/// dim=1). CrossEntropyLoss wants the scores before it: leave it out, or use LogSoftmax.
struct Softmax {
  static constexpr Lowering lowers_to = Lowering::softmax;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() { return "Softmax(dim=1)"; }
};

}  // namespace kern::nn
