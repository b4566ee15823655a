#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "options.hpp"
#include "parameter_groups.hpp"

namespace kern {

/// Multiplies the learning rate by `factor` when a metric has not become better for more than `patience`
/// epochs, with PyTorch's names, defaults and values.
///   ReduceLROnPlateau plateau{.patience = 3};
///   plateau.step(trainer.optimizer(), trainer.evaluate(test).loss);
struct ReduceLROnPlateau {
  enum Mode { min, max };           // which metric is better: the smaller or the larger
  enum ThresholdMode { rel, abs };  // by more than this share of the best, or by more than this
  Mode mode = min;
  double factor = 0.1;
  int patience = 10;
  double threshold = 1e-4;
  ThresholdMode threshold_mode = rel;
  int cooldown = 0;  ///< epochs after a reduction in which bad ones don't count
  double min_lr = 0;
  double eps = 1e-8;  ///< a reduction by no more than this is left out

  // What it has seen.
  double best = std::numeric_limits<double>::quiet_NaN();  ///< NaN: nothing yet
  int num_bad_epochs = 0, cooldown_counter = 0;

  void check() const {
    if (!(factor >= 0 && factor < 1))
      detail::refuse_option("ReduceLROnPlateau", "factor", ">= 0 and < 1", factor);
    detail::require_not_negative("ReduceLROnPlateau", "patience", patience);
    detail::require_not_negative("ReduceLROnPlateau", "threshold", threshold);
    detail::require_not_negative("ReduceLROnPlateau", "cooldown", cooldown);
    detail::require_not_negative("ReduceLROnPlateau", "min_lr", min_lr);
    detail::require_not_negative("ReduceLROnPlateau", "eps", eps);
  }

  /// After an epoch. Throws ArgumentError for options out of range.
  template <class Optimizer>
  void step(Optimizer& optimizer, double metric) {
    check();
    const bool better = is_better(metric);
    if (better) best = metric;
    num_bad_epochs = better ? 0 : num_bad_epochs + 1;
    if (cooldown_counter > 0) --cooldown_counter, num_bad_epochs = 0;
    if (num_bad_epochs <= patience) return;
    cooldown_counter = cooldown;
    num_bad_epochs = 0;
    for (int i = 0; i < detail::count_options(optimizer); ++i) {
      double& lr = detail::options_of(optimizer, i).lr;
      const double reduced = std::max(lr * factor, min_lr);
      if (lr - reduced > eps) lr = reduced;
    }
  }
  /// For checkpoints (io/checkpoint.hpp), together with the optimizer's trainer.
  template <class Visitor>
  void state(Visitor& v) {
    v.fixed("plateau.mode", int(mode));
    v.fixed("plateau.factor", factor);
    v.fixed("plateau.patience", patience);
    v.fixed("plateau.threshold", threshold);
    v.fixed("plateau.threshold_mode", int(threshold_mode));
    v.fixed("plateau.cooldown", cooldown);
    v.fixed("plateau.min_lr", min_lr);
    v.fixed("plateau.eps", eps);
    v.value("plateau.best", best);
    v.count("plateau.num_bad_epochs", num_bad_epochs);
    v.count("plateau.cooldown_counter", cooldown_counter);
  }

 private:
  bool is_better(double metric) const {
    if (std::isnan(best)) return !std::isnan(metric);
    const double step = threshold_mode == rel ? best * threshold : threshold;
    return mode == min ? metric < best - step : metric > best + step;
  }
};

}  // namespace kern
