#pragma once
#include "../ops/relu.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = max(x, 0), element by element.
struct ReLU {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Relu op(std::uint32_t) {
    return {};
  }
  static std::string repr() { return "ReLU()"; }
};

}  // namespace kern::nn
