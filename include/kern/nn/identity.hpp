#pragma once
#include "layer.hpp"

namespace kern::nn {

/// y = x.
struct Identity {
  static constexpr Lowering lowers_to = Lowering::view;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() { return "Identity()"; }
};

}  // namespace kern::nn
