#pragma once
#include "../ops/elu.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = x where x > 0, else Alpha * (exp(x) - 1), element by element. Alpha is at least 0.
template <double Alpha = 1.0>
struct ELU {
  static_assert(Alpha >= 0, "ELU: alpha is at least 0");
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Elu op(std::uint32_t) {
    return {Alpha};
  }
  static std::string repr() { return "ELU(alpha=" + detail::number_text(Alpha) + ")"; }
};

}  // namespace kern::nn
