// Learning rates that change as training goes on, with PyTorch's names, defaults and values.
//
// A schedule is a struct of options with check() and lr(base, epoch): the rate after so many steps of a
// Scheduler, base being what the optimizer began with. One that also moves momentum has momentum(epoch) and
// cycle_momentum. state() is for checkpoints (io/checkpoint.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "options.hpp"
#include "parameter_groups.hpp"

namespace kern {

/// base * gamma^(epoch / step_size), whole divisions.
struct StepLR {
  int step_size;
  double gamma = 0.1;

  void check() const {
    detail::require_positive("StepLR", "step_size", step_size);
    detail::require_not_negative("StepLR", "gamma", gamma);
  }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "StepLR");
    v.fixed("schedule.step_size", step_size);
    v.fixed("schedule.gamma", gamma);
  }
  double lr(double base, std::int64_t epoch) const { return base * std::pow(gamma, epoch / step_size); }
};

/// base * gamma^(milestones that are not after epoch).
struct MultiStepLR {
  std::vector<int> milestones;
  double gamma = 0.1;

  void check() const { detail::require_not_negative("MultiStepLR", "gamma", gamma); }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "MultiStepLR");
    v.fixed("schedule.milestones", milestones);
    v.fixed("schedule.gamma", gamma);
  }
  double lr(double base, std::int64_t epoch) const {
    const auto passed =
        std::count_if(milestones.begin(), milestones.end(), [&](int m) { return m <= epoch; });
    return base * std::pow(gamma, passed);
  }
};

/// base * gamma^epoch.
struct ExponentialLR {
  double gamma;

  void check() const { detail::require_not_negative("ExponentialLR", "gamma", gamma); }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "ExponentialLR");
    v.fixed("schedule.gamma", gamma);
  }
  double lr(double base, std::int64_t epoch) const { return base * std::pow(gamma, epoch); }
};

/// From base to eta_min along half a cosine in T_max epochs, and back again:
/// eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2.
struct CosineAnnealingLR {
  int T_max;
  double eta_min = 0;

  void check() const {
    detail::require_positive("CosineAnnealingLR", "T_max", T_max);
    detail::require_not_negative("CosineAnnealingLR", "eta_min", eta_min);
  }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "CosineAnnealingLR");
    v.fixed("schedule.T_max", T_max);
    v.fixed("schedule.eta_min", eta_min);
  }
  double lr(double base, std::int64_t epoch) const {
    return eta_min + (base - eta_min) * (1 + std::cos(std::numbers::pi * double(epoch) / T_max)) / 2;
  }
};

/// From base * start_factor to base * end_factor in total_iters equal steps: a warm-up.
struct LinearLR {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  int total_iters = 5;

  void check() const {
    if (!(start_factor > 0 && start_factor <= 1))
      detail::refuse_option("LinearLR", "start_factor", "> 0 and <= 1", start_factor);
    if (!(end_factor >= 0 && end_factor <= 1))
      detail::refuse_option("LinearLR", "end_factor", ">= 0 and <= 1", end_factor);
    detail::require_positive("LinearLR", "total_iters", total_iters);
  }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "LinearLR");
    v.fixed("schedule.start_factor", start_factor);
    v.fixed("schedule.end_factor", end_factor);
    v.fixed("schedule.total_iters", total_iters);
  }
  double lr(double base, std::int64_t epoch) const {
    const double done = double(std::min<std::int64_t>(epoch, total_iters)) / total_iters;
    return base * (start_factor + (end_factor - start_factor) * done);
  }
};

/// Up from max_lr / div_factor to max_lr in the first pct_start of total_steps, then down to
/// max_lr / div_factor / final_div_factor; a step is a batch. Momentum (Adam's betas[0]) goes the other way,
/// between max_momentum and base_momentum. three_phase: down to where it began first, as fast as up. What the
/// optimizer began with plays no part.
/// Source: Smith and Topin, Super-Convergence (2017), as torch.optim.lr_scheduler.OneCycleLR has it.
struct OneCycleLR {
  enum Anneal { cos, linear };
  double max_lr;
  int total_steps;
  double pct_start = 0.3;
  Anneal anneal_strategy = cos;
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;

  void check() const {
    detail::require_not_negative("OneCycleLR", "max_lr", max_lr);
    detail::require_positive("OneCycleLR", "total_steps", total_steps);
    if (!(pct_start >= 0 && pct_start <= 1))
      detail::refuse_option("OneCycleLR", "pct_start", ">= 0 and <= 1", pct_start);
    detail::require_fraction("OneCycleLR", "base_momentum", base_momentum);
    detail::require_fraction("OneCycleLR", "max_momentum", max_momentum);
    detail::require_positive("OneCycleLR", "div_factor", div_factor);
    detail::require_positive("OneCycleLR", "final_div_factor", final_div_factor);
  }
  template <class Visitor>
  void state(Visitor& v) const {
    v.fixed("schedule", "OneCycleLR");
    v.fixed("schedule.max_lr", max_lr);
    v.fixed("schedule.total_steps", total_steps);
    v.fixed("schedule.pct_start", pct_start);
    v.fixed("schedule.anneal_strategy", int(anneal_strategy));
    v.fixed("schedule.cycle_momentum", cycle_momentum);
    v.fixed("schedule.base_momentum", base_momentum);
    v.fixed("schedule.max_momentum", max_momentum);
    v.fixed("schedule.div_factor", div_factor);
    v.fixed("schedule.final_div_factor", final_div_factor);
    v.fixed("schedule.three_phase", three_phase);
  }
  double lr(double, std::int64_t epoch) const {
    const double first = max_lr / div_factor;
    return at(epoch, first, max_lr, first, first / final_div_factor);
  }
  double momentum(std::int64_t epoch) const {
    return at(epoch, max_momentum, base_momentum, max_momentum, max_momentum);
  }

 private:
  /// From `first` to `top`, with three phases to `back`, and to `last`.
  double at(std::int64_t epoch, double first, double top, double back, double last) const {
    if (epoch > total_steps)
      throw ArgumentError(
          text("OneCycleLR: expected at most total_steps = ", total_steps, " steps, got ", epoch));
    const double up = pct_start * total_steps - 1, down = 2 * up, end = total_steps - 1;
    const double now = double(epoch);
    if (now <= up) return between(first, top, now / up);
    if (!three_phase) return between(top, last, (now - up) / (end - up));
    if (now <= down) return between(top, back, (now - up) / (down - up));
    return between(back, last, (now - down) / (end - down));
  }
  double between(double from, double to, double share) const {
    if (anneal_strategy == linear) return from + (to - from) * share;
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
  }
};

/// Applies a schedule to an optimizer; Grouped, to each of its options.
///   Scheduler schedule{trainer.optimizer(), StepLR{.step_size = 30}};
///   schedule.step(trainer.optimizer());    after an epoch; with OneCycleLR after a batch
template <class Schedule>
struct Scheduler {
  Schedule schedule;
  std::vector<double> base_lrs;  ///< what the optimizer began with
  std::int64_t last_epoch = 0;   ///< steps done

  /// Sets the first learning rate. Throws ArgumentError for options out of range.
  template <class Optimizer>
  Scheduler(Optimizer& optimizer, const Schedule& s) : schedule(s) {
    s.check();
    for (int i = 0; i < detail::count_options(optimizer); ++i)
      base_lrs.push_back(detail::options_of(optimizer, i).lr);
    set(optimizer, 0);
  }
  /// Sets the next. Throws ArgumentError behind the last step of a OneCycleLR.
  template <class Optimizer>
  void step(Optimizer& optimizer) {
    set(optimizer, last_epoch + 1);
    ++last_epoch;
  }
  /// For checkpoints (io/checkpoint.hpp), together with the optimizer's trainer.
  template <class Visitor>
  void state(Visitor& v) {
    schedule.state(v);
    v.value("schedule.base_lrs", base_lrs);
    v.count("schedule.last_epoch", last_epoch);
  }

 private:
  template <class Optimizer>
  void set(Optimizer& optimizer, std::int64_t epoch) const {
    for (std::size_t i = 0; i < base_lrs.size(); ++i) {
      auto& options = detail::options_of(optimizer, int(i));
      const double lr = schedule.lr(base_lrs[i], epoch);
      if constexpr (requires { schedule.momentum(epoch); })
        if (schedule.cycle_momentum) set_momentum(options, schedule.momentum(epoch));
      options.lr = lr;
    }
  }
  template <class Options>
  static void set_momentum(Options& options, double momentum) {
    if constexpr (requires { options.momentum; })
      options.momentum = momentum;
    else if constexpr (requires { options.betas; })
      options.betas[0] = momentum;
    else
      throw ArgumentError(
          "cycle_momentum must be false for an optimizer without momentum or betas, got true");
  }
};
template <class Optimizer, class Schedule>
Scheduler(Optimizer&, const Schedule&) -> Scheduler<Schedule>;

}  // namespace kern
