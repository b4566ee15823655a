#include "kern/train/schedules.hpp"

#include "kern/train/optimizers.hpp"
#include "kern/train/reduce_lr_on_plateau.hpp"
#include "support/golden.hpp"

using namespace kern;
using namespace kern::testing;

namespace {

constexpr int steps = 50;

/// PyTorch goes from one rate to the next where we compute each anew: its 50 products are rounded 50 times,
/// to 50 * 2^-53 of the value at most; a cosine's quotients can lose a few times that where they are near 0.
void check_rates(const GoldenCase& c, const char* name, const std::vector<double>& got) {
  const GoldenArray& g = golden_array(c, name);
  REQUIRE(g.values.size() == got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - g.values[i]) <= 1e-14);
  }
}

double momentum_of(const Sgd& o) { return o.momentum; }
double momentum_of(const Adam& o) { return o.betas[0]; }

template <class Schedule, class Optimizer = Sgd>
void check_schedule(const char* name, Schedule s, Optimizer optimizer = {}) {
  CAPTURE(name);
  const GoldenCase& c = golden("schedules.txt", name);
  optimizer.lr = 0.1;
  std::vector<double> rates, momenta;
  Scheduler scheduler{optimizer, s};
  for (int i = 0; i < steps; ++i) {
    rates.push_back(optimizer.lr);
    momenta.push_back(momentum_of(optimizer));
    if (i + 1 < steps) scheduler.step(optimizer);
  }
  CHECK(scheduler.last_epoch == steps - 1);
  check_rates(c, "lr", rates);
  if (c.count("momentum"))
    check_rates(c, "momentum", momenta);
  else
    CHECK(momenta.front() == momenta.back());
}

void check_plateau(const char* name, ReduceLROnPlateau plateau) {
  CAPTURE(name);
  Sgd optimizer{.lr = 0.1};
  std::vector<double> rates;
  for (int i = 0; i < steps; ++i) {
    rates.push_back(optimizer.lr);
    plateau.step(optimizer, formula(5, std::size_t(i), 1));
  }
  check_rates(golden("schedules.txt", name), "lr", rates);
}

template <class F>
std::string refused(F f) {
  try {
    f();
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "nothing was thrown";
}
template <class Schedule>
std::string refused_schedule(Schedule s) {
  return refused([&] {
    Sgd optimizer;
    Scheduler{optimizer, s};
  });
}

}  // namespace

TEST_CASE("schedules have PyTorch's values") {
  check_schedule("step", StepLR{.step_size = 7});
  check_schedule("step_gamma", StepLR{.step_size = 3, .gamma = 0.7});
  check_schedule("multi_step", MultiStepLR{.milestones = {4, 11, 11, 30}});
  check_schedule("multi_step_gamma", MultiStepLR{.milestones = {1, 2, 40}, .gamma = 0.5});
  check_schedule("exponential", ExponentialLR{.gamma = 0.9});
  check_schedule("cosine", CosineAnnealingLR{.T_max = 50});
  check_schedule("cosine_eta_min", CosineAnnealingLR{.T_max = 15, .eta_min = 0.02});
  check_schedule("linear", LinearLR{});
  check_schedule("linear_all", LinearLR{.start_factor = 0.1, .end_factor = 0.8, .total_iters = 20});
}

TEST_CASE("OneCycleLR has PyTorch's values, of momentum, too") {
  check_schedule("one_cycle", OneCycleLR{.max_lr = 0.5, .total_steps = 50});
  check_schedule("one_cycle_linear", OneCycleLR{.max_lr = 0.5,
                                                .total_steps = 50,
                                                .pct_start = 0.45,
                                                .anneal_strategy = OneCycleLR::linear,
                                                .base_momentum = 0.7,
                                                .max_momentum = 0.9,
                                                .div_factor = 10,
                                                .final_div_factor = 100});
  check_schedule("one_cycle_three_phase", OneCycleLR{.max_lr = 0.5, .total_steps = 50, .three_phase = true});
  check_schedule("one_cycle_fixed_momentum",
                 OneCycleLR{.max_lr = 0.5, .total_steps = 60, .cycle_momentum = false});
  check_schedule("one_cycle_adam", OneCycleLR{.max_lr = 0.5, .total_steps = 50}, Adam{});
}

TEST_CASE("ReduceLROnPlateau has PyTorch's values") {
  check_plateau("plateau", {.patience = 3});
  check_plateau("plateau_max", {.mode = ReduceLROnPlateau::max,
                                .factor = 0.5,
                                .patience = 2,
                                .threshold = 0.05,
                                .threshold_mode = ReduceLROnPlateau::abs,
                                .cooldown = 4,
                                .min_lr = 0.004});
  check_plateau("plateau_eps", {.factor = 0.5, .patience = 0, .eps = 0.01});
}

TEST_CASE("each group keeps its share of the learning rate") {
  Grouped<Sgd> optimizer{{.lr = 0.1}, {{"fc", {.lr = 0.02}}}};
  Scheduler scheduler{optimizer, ExponentialLR{.gamma = 0.5}};
  scheduler.step(optimizer);
  CHECK(optimizer.rest.lr == 0.05);
  CHECK(optimizer.groups[0].options.lr == 0.01);
  ReduceLROnPlateau plateau{.patience = 0};
  for (int i = 0; i < 2; ++i) plateau.step(optimizer, 1);
  CHECK(optimizer.rest.lr == doctest::Approx(0.005));
  CHECK(optimizer.groups[0].options.lr == doctest::Approx(0.001));
}

TEST_CASE("options out of range are refused") {
  CHECK(refused_schedule(StepLR{.step_size = 0}) == "StepLR: step_size must be finite and > 0, got 0");
  CHECK(refused_schedule(ExponentialLR{.gamma = -1}) ==
        "ExponentialLR: gamma must be finite and >= 0, got -1");
  CHECK(refused_schedule(MultiStepLR{{1}, NAN}) == "MultiStepLR: gamma must be finite and >= 0, got nan");
  CHECK(refused_schedule(CosineAnnealingLR{.T_max = -3}) ==
        "CosineAnnealingLR: T_max must be finite and > 0, got -3");
  CHECK(refused_schedule(LinearLR{.start_factor = 0}) ==
        "LinearLR: start_factor must be > 0 and <= 1, got 0");
  CHECK(refused_schedule(LinearLR{.end_factor = 1.5}) ==
        "LinearLR: end_factor must be >= 0 and <= 1, got 1.5");
  CHECK(refused_schedule(OneCycleLR{.max_lr = 1, .total_steps = 0}) ==
        "OneCycleLR: total_steps must be finite and > 0, got 0");
  CHECK(refused_schedule(OneCycleLR{.max_lr = 1, .total_steps = 9, .pct_start = 1.25}) ==
        "OneCycleLR: pct_start must be >= 0 and <= 1, got 1.25");
  Sgd sgd;
  CHECK(refused([&] { ReduceLROnPlateau{.factor = 1}.step(sgd, 0); }) ==
        "ReduceLROnPlateau: factor must be >= 0 and < 1, got 1");
  Adagrad adagrad;
  CHECK(refused([&] { Scheduler{adagrad, OneCycleLR{.max_lr = 1, .total_steps = 9}}; }) ==
        "cycle_momentum must be false for an optimizer without momentum or betas, got true");
  CHECK(adagrad.lr == 1e-2);
  CHECK(refused([&] {
          Scheduler{adagrad, OneCycleLR{.max_lr = 1, .total_steps = 9, .cycle_momentum = false}};
        }) == "nothing was thrown");
}

TEST_CASE("a step behind the end of a OneCycleLR is refused, and changes nothing") {
  Sgd sgd{.momentum = 0.9};
  Scheduler scheduler{sgd, OneCycleLR{.max_lr = 1, .total_steps = 4}};
  for (int i = 0; i < 4; ++i) scheduler.step(sgd);
  const double lr = sgd.lr;
  CHECK(refused([&] { scheduler.step(sgd); }) == "OneCycleLR: expected at most total_steps = 4 steps, got 5");
  CHECK(sgd.lr == lr);
  CHECK(scheduler.last_epoch == 4);
}
