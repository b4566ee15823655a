#pragma once
#include <array>
#include <cstdint>

#include "../ops/sgd.hpp"
#include "options.hpp"

namespace kern {

/// Stochastic gradient descent with PyTorch's names, defaults and formulas (ops/sgd.hpp has them).
struct Sgd {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  /// Throws ArgumentError for what torch.optim.SGD refuses: negative values, nesterov without momentum or
  /// with dampening.
  void check() const {
    detail::require_not_negative("Sgd", "lr", lr);
    detail::require_not_negative("Sgd", "momentum", momentum);
    detail::require_not_negative("Sgd", "weight_decay", weight_decay);
    detail::require_finite("Sgd", "dampening", dampening);
    if (nesterov && (momentum <= 0 || dampening != 0))
      throw ArgumentError(text("Sgd: nesterov needs momentum > 0 and dampening 0, got momentum ", momentum,
                               ", dampening ", dampening));
  }

  // For OptimizerState and checkpoints.
  static constexpr const char* name = "Sgd";
  static constexpr std::array states{"momentum_buffer"};
  bool keeps(int) const { return momentum != 0; }
  template <class T>
  ops::Sgd<T> op(std::int64_t steps) const {
    return {T(lr), T(momentum), T(dampening), T(weight_decay), nesterov, steps == 0};
  }
  template <class Visitor>
  void state(Visitor& v) {
    v.value("lr", lr);
    v.value("momentum", momentum);
    v.value("dampening", dampening);
    v.value("weight_decay", weight_decay);
    v.value("nesterov", nesterov);
  }
};

}  // namespace kern
