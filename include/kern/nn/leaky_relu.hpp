#pragma once
#include "../ops/leaky_relu.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = x where x > 0, else NegativeSlope * x, element by element. A slope is at least 0.
template <double NegativeSlope = 0.01>
struct LeakyReLU : Elementwise<ops::LeakyRelu, NegativeSlope> {
  static_assert(NegativeSlope >= 0, "LeakyReLU: the slope is at least 0");
  static std::string repr() { return "LeakyReLU(negative_slope=" + detail::number_text(NegativeSlope) + ")"; }
};

}  // namespace kern::nn
