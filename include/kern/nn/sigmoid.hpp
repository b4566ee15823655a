#pragma once
#include "../ops/sigmoid.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = 1 / (1 + exp(-x)), element by element.
struct Sigmoid {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Sigmoid op(std::uint32_t) {
    return {};
  }
  static std::string repr() { return "Sigmoid()"; }
};

}  // namespace kern::nn
