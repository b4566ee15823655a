#pragma once
#include "../ops/tanh.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = tanh x, element by element.
struct Tanh {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Tanh op(std::uint32_t) {
    return {};
  }
  static std::string repr() { return "Tanh()"; }
};

}  // namespace kern::nn
