#pragma once
#include "../ops/silu.hpp"
#include "layer.hpp"

namespace kern::nn {

/// y = x / (1 + exp(-x)), element by element; also called swish.
struct SiLU {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Silu op(std::uint32_t) {
    return {};
  }
  static std::string repr() { return "SiLU()"; }
};

}  // namespace kern::nn
