#pragma once
#include "layer.hpp"

namespace kern::nn {

/// y[o] = bias[o] + sum over i of weight[o, i] * x[i]: (In) -> (Out). Parameters: weight (Out, In), bias
/// (Out).
template <int In, int Out, Bias HasBias = Bias::on>
struct Linear {
  static_assert(In > 0 && Out > 0, "Linear: features are at least 1");

  static constexpr Lowering lowers_to = Lowering::dense;
  static constexpr Rule rule(Dims d) {
    Rule r{{Out, 1, 1, true}, {}};
    if (!d.flat)
      r.fault = {Mismatch::linear_needs_flatten, -1, 1, 3};
    else if (d.size() != In)
      r.fault = {Mismatch::linear_in_features, -1, d.size(), In};
    return r;
  }
  static constexpr auto parameters = [] {
    constexpr Parameter weight{"weight", {Out, In}, 2, In};
    if constexpr (HasBias == Bias::on)
      return std::array{weight, Parameter{"bias", {Out}, 1, In}};
    else
      return std::array{weight};
  }();
  static std::string repr() {
    return text("Linear(in_features=", In, ", out_features=", Out,
                ", bias=", HasBias == Bias::on ? "True)" : "False)");
  }
};

}  // namespace kern::nn
