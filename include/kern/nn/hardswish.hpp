#pragma once
#include "../ops/hardswish.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = x * min(max(x + 3, 0), 6) / 6, element by element.
struct Hardswish {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Hardswish op(std::uint32_t) {
    return {};
  }
  static std::string repr() { return "Hardswish()"; }
};

}  // namespace kern::nn
