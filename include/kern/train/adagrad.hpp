#pragma once
#include <array>
#include <cstdint>

#include "../ops/adagrad.hpp"
#include "options.hpp"

namespace kern {

/// Adagrad with PyTorch's names, defaults and formulas (ops/adagrad.hpp has them). eps is at least 1e-37,
/// where PyTorch also takes 0.
struct Adagrad {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;

  /// Throws ArgumentError for what PyTorch refuses: negative values.
  void check() const {
    detail::require_not_negative("Adagrad", "lr", lr);
    detail::require_not_negative("Adagrad", "lr_decay", lr_decay);
    detail::require_not_negative("Adagrad", "weight_decay", weight_decay);
    detail::require_not_negative("Adagrad", "initial_accumulator_value", initial_accumulator_value);
    detail::require_eps("Adagrad", eps);
  }

  // For OptimizerState and checkpoints.
  static constexpr const char* name = "Adagrad";
  static constexpr std::array states{"sum"};
  bool keeps(int) const { return true; }
  template <class T>
  ops::Adagrad<T> op(std::int64_t steps) const {
    return {T(lr / (1 + double(steps) * lr_decay)), T(eps), T(weight_decay),
            T(steps == 0 ? initial_accumulator_value : 0)};
  }
  template <class Visitor>
  void state(Visitor& v) {
    v.value("lr", lr);
    v.value("lr_decay", lr_decay);
    v.value("weight_decay", weight_decay);
    v.value("initial_accumulator_value", initial_accumulator_value);
    v.value("eps", eps);
  }
};

}  // namespace kern
