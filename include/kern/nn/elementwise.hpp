#pragma once
#include "layer.hpp"

namespace kern::nn {

/// What a layer that is one op for each element is made of; Op is an ops/ op or one of your own, made of
/// Numbers:
///   struct Softsign : nn::Elementwise<SoftsignOp> { static std::string repr() { return "Softsign()"; } };
template <class Op, double... Numbers>
struct Elementwise {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr Op op(std::uint32_t) {
    return {Numbers...};
  }
};

}  // namespace kern::nn
