#pragma once
#include "../ops/leaky_relu.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = x where x > 0, else NegativeSlope * x, element by element. A slope is at least 0.
template <double NegativeSlope = 0.01>
struct LeakyReLU {
  static_assert(NegativeSlope >= 0, "LeakyReLU: the slope is at least 0");
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::LeakyRelu op(std::uint32_t) {
    return {NegativeSlope};
  }
  static std::string repr() { return "LeakyReLU(negative_slope=" + detail::number_text(NegativeSlope) + ")"; }
};

}  // namespace kern::nn
