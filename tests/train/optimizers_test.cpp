// Optimizers and what belongs to them against PyTorch: 50 steps of a small net each.
#include "kern/train/optimizers.hpp"

#include "kern/nn/nn.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/ema.hpp"
#include "kern/train/trainer.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

using Net = Sequential<Linear<6, 9>, ReLU, Linear<9, 3>>;
using In = Input<6>;
constexpr int samples = 8, steps = 50;
template <class T>
using SmallModel = Model<Net, In, TestDevice, T>;

/// The samples that PyTorch had, or some of them.
template <class T>
struct Samples {
  std::vector<T> x = formula_array<T>(1, std::size_t(samples * 6));
  std::vector<std::int32_t> y = [] {
    std::vector<std::int32_t> labels;
    for (int i = 0; i < samples; ++i) labels.push_back(i * 7 % 3);
    return labels;
  }();
  using Images = TensorView<const T, typename In::Batch>;
  struct Batch {
    Images images;
    std::span<const std::int32_t> labels;
  };
  Batch batch(int first = 0, int count = samples) const {
    return {Images(x.data() + first * 6, count),
            std::span(y).subspan(std::size_t(first), std::size_t(count))};
  }
};

template <class T>
void check_parameters(const GoldenCase& c, const char* letter, const SmallModel<T>& model) {
  int k = 0;
  for (const auto& p : model.parameter_names())
    check_as_accurate(c, letter + std::to_string(k++), model.parameter(p));
}

/// Takes the steps and compares losses and the parameters at the end.
template <class T, class Optimizer, class Clip = NoClip>
void check_training(const char* name, Optimizer optimizer, Clip clip = {}, int parts = 1) {
  CAPTURE(name);
  const GoldenCase& c = golden("optimizers.txt", name);
  const Samples<T> data;
  SmallModel<T> model{Seed{}, test_device(2)};
  fill(model);
  Trainer trainer{model, CrossEntropyLoss{}, optimizer, clip};
  std::vector<float> losses;
  std::vector<T> norms;
  const int size = samples / parts;
  for (int i = 0; i < steps; ++i) {
    for (int part = 0; part < parts - 1; ++part) trainer.accumulate(data.batch(part * size, size));
    losses.push_back(trainer.step(data.batch(samples - size, size)));
    if constexpr (std::is_same_v<Clip, ClipNorm>) norms.push_back(T(trainer.gradient_norm()));
  }
  check_as_accurate(c, "losses", losses);
  check_parameters(c, "p", model);
  if constexpr (std::is_same_v<Clip, ClipNorm>) check_as_accurate(c, "norms", norms);
}

#ifdef KERN_TEST_ON_CUDA
using Types = std::tuple<float>;  // a kernel more costs seconds
#else
using Types = std::tuple<float, double>;
#endif
/// For each type, where that is not too slow.
template <class Optimizer, class Clip = NoClip>
void check_all(std::initializer_list<std::pair<const char*, Optimizer>> all, Clip clip = {}, int parts = 1) {
  for (const auto& [name, optimizer] : all)
    [&]<class... T>(std::tuple<T...>) { (check_training<T>(name, optimizer, clip, parts), ...); }(Types{});
}

constexpr Sgd momentum{.lr = 0.1, .momentum = 0.9};

}  // namespace

TEST_CASE("Adam") {
  check_all<Adam>({{"adam", {.lr = 0.01}},
                   {"adam_betas", {.lr = 0.01, .betas = {0.7, 0.95}, .eps = 1e-3}},
                   {"adam_weight_decay", {.lr = 0.01, .weight_decay = 0.1}},
                   {"adam_amsgrad", {.lr = 0.03, .betas = {0.9, 0.8}, .amsgrad = true}}});
}

TEST_CASE("AdamW") {
  check_all<AdamW>(
      {{"adamw", {}},
       {"adamw_weight_decay", {.lr = 0.02, .weight_decay = 0.3}},
       {"adamw_amsgrad", {.lr = 0.03, .betas = {0.9, 0.8}, .weight_decay = 0.1, .amsgrad = true}}});
}

TEST_CASE("RMSprop") {
  check_all<RMSprop>(
      {{"rmsprop", {}},
       {"rmsprop_alpha", {.lr = 0.002, .alpha = 0.8, .eps = 1e-3, .weight_decay = 0.1}},
       {"rmsprop_momentum", {.lr = 0.002, .momentum = 0.7}},
       {"rmsprop_centered", {.lr = 0.002, .centered = true}},
       {"rmsprop_all",
        {.lr = 0.001, .alpha = 0.9, .weight_decay = 0.05, .momentum = 0.5, .centered = true}}});
}

TEST_CASE("Adagrad") {
  check_all<Adagrad>(
      {{"adagrad", {}},
       {"adagrad_lr_decay", {.lr = 0.1, .lr_decay = 0.1}},
       {"adagrad_all",
        {.lr = 0.1, .lr_decay = 0.01, .weight_decay = 0.1, .initial_accumulator_value = 0.1, .eps = 1e-3}}});
}

TEST_CASE("gradients clipped by norm and by value") {
  check_all<Sgd>({{"clip_norm", momentum}}, ClipNorm{.max_norm = 0.2});
  check_all<Sgd>({{"clip_norm_1", momentum}}, ClipNorm{.max_norm = 1, .norm_type = 1});
  check_all<Sgd>({{"clip_norm_inf", momentum}}, ClipNorm{.max_norm = 0.05, .norm_type = INFINITY});
  check_all<Sgd>({{"clip_value", momentum}}, ClipValue{.clip_value = 0.02});
}

TEST_CASE("gradients of several batches") {
  check_all<Sgd>({{"accumulate", momentum}}, NoClip{}, 4);
  check_all<Sgd>({{"accumulate_clip_norm", momentum}}, ClipNorm{.max_norm = 0.2}, 2);
}

TEST_CASE("a data set that is no multiple of its batches; batches of other sizes from step to step") {
  const GoldenCase& c = golden("optimizers.txt", "batch_sizes");
  const Samples<float> data;
  SmallModel<float> model{Seed{}, test_device(2)};
  fill(model);
  Trainer trainer{model, CrossEntropyLoss{}, momentum};
  constexpr struct {
    int first, count;
  } batches[]{{0, 3}, {3, 3}, {6, 2}, {0, 8}, {2, 1}, {4, 4}};
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(trainer.step(data.batch(batches[i % 6].first, batches[i % 6].count)));
  check_as_accurate(c, "losses", losses);
  check_parameters(c, "p", model);
}

TEST_CASE(
    "a label outside the classes, and a learning rate that diverges: refused, and nothing has changed") {
  Samples<float> data;
  SmallModel<float> model{Seed{}, test_device(2)};
  fill(model);
  const auto parameters = [&] {
    std::vector<std::vector<float>> all;
    for (const auto& p : model.parameter_names()) all.push_back(model.parameter(p));
    return all;
  };
  auto before = parameters();
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 1e30, .momentum = 0.9}};
  for (const std::int32_t wrong : {3, -1}) {
    data.y[5] = wrong;
    const std::string message = text("label of sample 5 in the batch: expected 0 to 2, got ", wrong);
    CHECK_THROWS_WITH_AS(trainer.step(data.batch()), message.c_str(), DataError);
    CHECK_THROWS_WITH_AS(trainer.evaluate(std::vector{data.batch()}), message.c_str(), DataError);
  }
  CHECK(parameters() == before);
  CHECK(trainer.steps() == 0);

  data.y[5] = 2;
  const auto diverge = [&] {
    for (int i = 0; i < steps; ++i) {
      before = parameters();
      trainer.step(data.batch());
    }
  };
  CHECK_THROWS_AS(diverge(), NumericError);
  CHECK(trainer.steps() < steps);
  CHECK(parameters() == before);
}

TEST_CASE("parameter groups") {
  check_all<Grouped<Adam>>(
      {{"groups",
        {{.lr = 0.01},
         {{"2.weight", {.lr = 0.1, .weight_decay = 0.05}}, {"2.bias", {.lr = 0.01, .betas = {0.5, 0.9}}}}}}});
}

TEST_CASE("an exponential moving average of the parameters") {
  const GoldenCase& c = golden("optimizers.txt", "ema");
  const Samples<float> data;
  SmallModel<float> model{Seed{}, test_device(2)};
  fill(model);
  Trainer trainer{model, CrossEntropyLoss{}, momentum};
  Ema ema{model, 0.9};
  CHECK_THROWS_WITH_AS(ema.swap(), "Ema: swap() before the first update(): there is no average yet",
                       ArgumentError);
  for (int i = 0; i < steps; ++i) {
    trainer.step(data.batch());
    ema.update();
  }
  check_parameters(c, "p", model);
  const auto before = model.predict(data.batch().images);
  ema.swap();
  check_parameters(c, "average", model);
  CHECK(model.predict(data.batch().images)(0, 0) != before(0, 0));
  CHECK_THROWS_WITH_AS(ema.update(), "Ema: update() while the average is in the model: swap() comes first",
                       ArgumentError);
  ema.swap();
  check_parameters(c, "p", model);
  CHECK(model.predict(data.batch().images)(0, 0) == before(0, 0));
}
