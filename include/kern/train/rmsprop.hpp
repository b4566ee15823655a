#pragma once
#include <array>
#include <cstdint>

#include "../ops/rmsprop.hpp"
#include "options.hpp"

namespace kern {

/// RMSprop with PyTorch's names, defaults and formulas (ops/rmsprop.hpp has them). eps is at least 1e-37,
/// where PyTorch also takes 0.
struct RMSprop {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;

  /// Throws ArgumentError for what PyTorch refuses: negative values.
  void check() const {
    detail::require_not_negative("RMSprop", "lr", lr);
    detail::require_not_negative("RMSprop", "alpha", alpha);
    detail::require_eps("RMSprop", eps);
    detail::require_not_negative("RMSprop", "weight_decay", weight_decay);
    detail::require_not_negative("RMSprop", "momentum", momentum);
  }

  // For OptimizerState and checkpoints.
  static constexpr const char* name = "RMSprop";
  static constexpr std::array states{"square_avg", "momentum_buffer", "grad_avg"};
  bool keeps(int state) const { return state == 0 || (state == 1 ? momentum > 0 : centered); }
  template <class T>
  ops::RMSprop<T> op(std::int64_t) const {
    return {T(lr), T(alpha), T(1 - alpha), T(eps), T(weight_decay), T(momentum), centered};
  }
  template <class Visitor>
  void state(Visitor& v) {
    v.value("lr", lr);
    v.value("alpha", alpha);
    v.value("eps", eps);
    v.value("weight_decay", weight_decay);
    v.value("momentum", momentum);
    v.value("centered", centered);
  }
};

}  // namespace kern
