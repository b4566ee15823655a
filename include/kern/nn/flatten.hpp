#pragma once
#include "layer.hpp"

namespace kern::nn {

/// (C, H, W) -> (C * H * W), in that order.
struct Flatten {
  static constexpr Lowering lowers_to = Lowering::view;
  static constexpr Rule rule(Dims d) { return {{d.c, d.h, d.w, true}, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() { return "Flatten(start_dim=1, end_dim=-1)"; }
};

}  // namespace kern::nn
