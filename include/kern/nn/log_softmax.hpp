#pragma once
#include "layer.hpp"

namespace kern::nn {

/// y = x - log(sum of exp x) over the features, or over the channels at each place of an image (PyTorch's
/// dim=1). Cross-entropy after it works on x: log_softmax(log_softmax(x)) = log_softmax(x), so it is not
/// computed twice.
struct LogSoftmax {
  static constexpr Lowering lowers_to = Lowering::softmax;
  static constexpr Rule rule(Dims d) {
    Rule r{d, {}};
    r.logarithm = true;
    return r;
  }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() { return "LogSoftmax(dim=1)"; }
};

}  // namespace kern::nn
