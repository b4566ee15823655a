#pragma once
#include "../ops/elu.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = x where x > 0, else Alpha * (exp(x) - 1), element by element. Alpha is at least 0.
template <double Alpha = 1.0>
struct ELU : Elementwise<ops::Elu, Alpha> {
  static_assert(Alpha >= 0, "ELU: alpha is at least 0");
  static std::string repr() { return "ELU(alpha=" + detail::number_text(Alpha) + ")"; }
};

}  // namespace kern::nn
