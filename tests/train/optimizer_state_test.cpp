// What optimizers refuse, what they remember, and which parameters a group has.
#include "kern/train/optimizer_state.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "kern/nn/nn.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/ema.hpp"
#include "kern/train/optimizers.hpp"
#include "kern/train/trainer.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using Net = Sequential<Named<"body", Sequential<Named<"in", Linear<3, 5>>, ReLU, Named<"out", Linear<5, 4>>>>,
                       Named<"head", Linear<4, 2>>>;
using In = Input<3>;
using Small = Model<Net, In>;
using Batch = TensorView<const float, Shape<dyn, 3>>;

const Tensor<float, Shape<2, 3>> images{1, -2, 0.5f, 3, 1, -1};
const std::vector<std::int32_t> labels{0, 1};

template <class F>
std::string refused(F f) {
  try {
    f();
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "nothing was thrown";
}
template <class Optimizer, class Clip = NoClip>
std::string refused_by(Optimizer o, Clip clip = {}) {
  return refused([&] {
    Small model;
    Trainer(model, CrossEntropyLoss{}, o, clip);
  });
}

/// The states in use by name, with their values for head.bias.
template <class Trainer>
std::map<std::string, std::vector<float>> states(Trainer& trainer) {
  std::map<std::string, std::vector<float>> all;
  const std::size_t first = trainer.model().stored("head.bias").first;
  trainer.optimizer_state().each([&](std::string_view name, auto& buffer) {
    all[std::string(name)] = {buffer.data() + first, buffer.data() + first + 2};
  });
  return all;
}
/// After one step with these options; and the gradient of head.bias.
template <class Optimizer>
auto states_after_a_step(Optimizer o) {
  Small model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, o};
  CHECK(states(trainer).empty());
  trainer.step(Batch(images.view()), labels);
  CHECK(trainer.optimizer_state().steps == std::vector<std::int64_t>{1});
  return std::pair(states(trainer), model.gradient("head.bias"));
}
void check_values(const std::vector<float>& got, const std::vector<float>& g, double (*expected)(double)) {
  REQUIRE(got.size() == g.size());
  for (std::size_t i = 0; i < g.size(); ++i)
    CHECK(double(got[i]) == doctest::Approx(expected(double(g[i]))).epsilon(1e-6));
}

}  // namespace

TEST_CASE("options out of range are refused") {
  CHECK(refused_by(Adam{.lr = -1}) == "Adam: lr must be finite and >= 0, got -1");
  CHECK(refused_by(Adam{.betas = {1, 0.9}}) == "Adam: betas[0] must be >= 0 and < 1, got 1");
  CHECK(refused_by(Adam{.betas = {0.9, -0.5}}) == "Adam: betas[1] must be >= 0 and < 1, got -0.5");
  CHECK(refused_by(Adam{.eps = 0}) == "Adam: eps must be finite and >= 1e-37, got 0");
  CHECK(refused_by(AdamW{.weight_decay = -0.5}) == "AdamW: weight_decay must be finite and >= 0, got -0.5");
  CHECK(refused_by(RMSprop{.lr = std::numeric_limits<double>::quiet_NaN()}) ==
        "RMSprop: lr must be finite and >= 0, got nan");
  CHECK(refused_by(RMSprop{.alpha = -1}) == "RMSprop: alpha must be finite and >= 0, got -1");
  CHECK(refused_by(RMSprop{.eps = -1}) == "RMSprop: eps must be finite and >= 1e-37, got -1");
  CHECK(refused_by(RMSprop{.weight_decay = -1}) == "RMSprop: weight_decay must be finite and >= 0, got -1");
  CHECK(refused_by(RMSprop{.momentum = -1}) == "RMSprop: momentum must be finite and >= 0, got -1");
  CHECK(refused_by(Adagrad{.lr = -1}) == "Adagrad: lr must be finite and >= 0, got -1");
  CHECK(refused_by(Adagrad{.lr_decay = -1}) == "Adagrad: lr_decay must be finite and >= 0, got -1");
  CHECK(refused_by(Adagrad{.weight_decay = -1}) == "Adagrad: weight_decay must be finite and >= 0, got -1");
  CHECK(refused_by(Adagrad{.initial_accumulator_value = -1}) ==
        "Adagrad: initial_accumulator_value must be finite and >= 0, got -1");
  CHECK(refused_by(Sgd{}, ClipNorm{.max_norm = -1}) == "ClipNorm: max_norm must be finite and >= 0, got -1");
  CHECK(refused_by(Sgd{}, ClipNorm{.max_norm = 1, .norm_type = 3}) ==
        "ClipNorm: norm_type must be 1, 2 or infinity, got 3");
  CHECK(refused_by(Sgd{}, ClipValue{-1}) == "ClipValue: clip_value must be finite and >= 0, got -1");
  Small model;
  CHECK(refused([&] { Ema(model, 1.5); }) == "Ema: decay must be in [0, 1], got 1.5");
}

TEST_CASE("a group has the parameters of the layers that its name names") {
  const auto refused_groups = [](std::vector<ParameterGroup<Sgd>> groups) {
    return refused_by(Grouped<Sgd>{{.lr = 0.1}, groups});
  };
  CHECK(refused_groups({{"bod", {}}}) ==
        "no parameter is in the group \"bod\"; there are: body.in.weight, body.in.bias, body.out.weight, "
        "body.out.bias, head.weight, head.bias");
  CHECK(refused_groups({{"body", {}}, {"body.in.bias", {}}}) ==
        "parameter body.in.bias is in two groups: \"body\" and \"body.in.bias\"");
  CHECK(refused_groups({{"head", {.lr = -2}}}) == "Sgd: lr must be finite and >= 0, got -2");

  Small model{Seed{1}};
  std::map<std::string, std::vector<float>> before;
  for (const auto& name : Small::parameter_names()) before[name] = model.parameter(name);
  Trainer trainer{model, CrossEntropyLoss{},
                  Grouped<Sgd>{{.lr = 0}, {{"body.out", {.lr = 0.5}}, {"head.bias", {.lr = 0.25}}}}};
  trainer.step(Batch(images.view()), labels);
  for (const auto& [name, values] : before) {
    const double lr = name.starts_with("body.out") ? 0.5 : name == "head.bias" ? 0.25 : 0;
    const auto after = model.parameter(name), g = model.gradient(name);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(after[i] == values[i] - g[i] * float(lr));
  }
}

TEST_CASE("states have PyTorch's names; those that options don't need are left out") {
  {
    Small model;
    Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
    trainer.step(Batch(images.view()), labels);
    CHECK(states(trainer).empty());
    CHECK(trainer.optimizer_state().steps[0] == 0);
  }
  {
    const auto [s, g] = states_after_a_step(Sgd{.momentum = 0.9, .dampening = 0.5});
    REQUIRE(s.size() == 1);
    check_values(s.at("momentum_buffer"), g, [](double x) { return x; });
  }
  {
    const auto [s, g] = states_after_a_step(Adam{.betas = {0.75, 0.875}});
    REQUIRE(s.size() == 2);
    check_values(s.at("exp_avg"), g, [](double x) { return x / 4; });
    check_values(s.at("exp_avg_sq"), g, [](double x) { return x * x / 8; });
  }
  {
    const auto [s, g] = states_after_a_step(AdamW{.betas = {0.75, 0.875}, .amsgrad = true});
    REQUIRE(s.size() == 3);
    check_values(s.at("max_exp_avg_sq"), g, [](double x) { return x * x / 8; });
  }
  {
    const auto [s, g] = states_after_a_step(RMSprop{.alpha = 0.75, .momentum = 0.5, .centered = true});
    REQUIRE(s.size() == 3);
    check_values(s.at("square_avg"), g, [](double x) { return x * x / 4; });
    check_values(s.at("grad_avg"), g, [](double x) { return x / 4; });
    CHECK(s.at("momentum_buffer")[0] != 0);
    CHECK(states_after_a_step(RMSprop{}).first.size() == 1);
  }
  {
    const auto [s, g] = states_after_a_step(Adagrad{.initial_accumulator_value = 2});
    REQUIRE(s.size() == 1);
    check_values(s.at("sum"), g, [](double x) { return 2 + x * x; });
  }
}

TEST_CASE("a step that fails leaves states and counts as they were") {
  Small model{Seed{1}}, other{Seed{1}};
  const Adam adam{.lr = 0.1};
  Trainer trainer{model, CrossEntropyLoss{}, adam, ClipNorm{1}},
      undisturbed{other, CrossEntropyLoss{}, adam, ClipNorm{1}};
  const Tensor<float, Shape<2, 3>> bad{1, -2, 0.5f, 3, 1, std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(trainer.step(Batch(bad.view()), labels), NumericError);
    CHECK(trainer.optimizer_state().steps[0] == i);
    trainer.step(Batch(images.view()), labels);
    undisturbed.step(Batch(images.view()), labels);
    CHECK(states(trainer) == states(undisturbed));
  }
  for (const auto& name : Small::parameter_names()) CHECK(model.parameter(name) == other.parameter(name));
}
