#pragma once
#include <array>
#include <cmath>
#include <cstdint>

#include "../ops/adam.hpp"
#include "options.hpp"

namespace kern {

/// Adam and AdamW, whose weight decay is Decoupled from the gradient, with PyTorch's names, defaults and
/// formulas (ops/adam.hpp has them). eps is at least 1e-37, where PyTorch also takes 0.
template <bool Decoupled>
struct BasicAdam {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = Decoupled ? 1e-2 : 0;
  bool amsgrad = false;

  /// Throws ArgumentError for what PyTorch refuses.
  void check() const {
    detail::require_not_negative(name, "lr", lr);
    detail::require_fraction(name, "betas[0]", betas[0]);
    detail::require_fraction(name, "betas[1]", betas[1]);
    detail::require_eps(name, eps);
    detail::require_not_negative(name, "weight_decay", weight_decay);
  }

  // For OptimizerState and checkpoints.
  static constexpr const char* name = Decoupled ? "AdamW" : "Adam";
  static constexpr std::array states{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  bool keeps(int state) const { return state < 2 || amsgrad; }
  template <class T>
  ops::Adam<T> op(std::int64_t steps) const {
    const double step = double(steps + 1);
    return {.step_size = T(lr / (1 - std::pow(betas[0], step))),
            .root_correction = T(std::sqrt(1 - std::pow(betas[1], step))),
            .rest1 = T(1 - betas[0]),
            .beta2 = T(betas[1]),
            .rest2 = T(1 - betas[1]),
            .eps = T(eps),
            .weight_decay = T(Decoupled ? 0 : weight_decay),
            .keep = T(Decoupled ? 1 - lr * weight_decay : 1),
            .amsgrad = amsgrad};
  }
  template <class Visitor>
  void state(Visitor& v) {
    v.value("lr", lr);
    v.value("betas", betas);
    v.value("eps", eps);
    v.value("weight_decay", weight_decay);
    v.value("amsgrad", amsgrad);
  }
};

using Adam = BasicAdam<false>;
using AdamW = BasicAdam<true>;

}  // namespace kern
