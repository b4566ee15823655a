// What losses promise beside right numbers: clear errors, batches with little or nothing that counts,
// evaluation, a loss of one's own.
#include "kern/train/losses.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "kern/data/loader.hpp"
#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "support/allocations.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using Net = Sequential<Named<"fc", Linear<4, 3>>>;
using Small = Model<Net, Input<4>>;
const auto images = randn<float, Shape<6, 4>>(Seed{3});
const auto values = kern::rand<float, Shape<6, 3>>(Seed{4});  // from 0 to 1

struct Classes {
  TensorView<const float, Shape<dyn, 4>> images;
  std::span<const std::int32_t> labels;
};
struct Values {
  TensorView<const float, Shape<dyn, 4>> images;
  TensorView<const float, Shape<dyn, 3>> labels;
};
// Its slope would stay in its own copy.
struct SlopeByValue {
  template <class T>
  T operator()(T z, T target, T slope, int) const {
    slope = 2 * (z - target);
    return (z - target) * (z - target);
  }
};
static_assert(kern::detail::IsValueLoss<MSELoss, float> && !kern::detail::IsValueLoss<SlopeByValue, float>);

template <class Batch, class Labels>
Batch part(const Labels& labels, int first, int n) {
  const TensorView<const float, Shape<dyn, 4>> x(images.data() + first * 4, n);
  if constexpr (std::is_same_v<Batch, Classes>)
    return {x, std::span(labels).subspan(std::size_t(first), std::size_t(n))};
  else
    return {x, TensorView<const float, Shape<dyn, 3>>(labels.data() + first * 3, n)};
}

template <class E, class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// log cosh (z - t), as a user would write it.
struct LogCosh {
  template <class T>
  T operator()(T z, T t, T& slope, int) const {
    slope = std::tanh(z - t);
    return std::log(std::cosh(z - t));
  }
};

}  // namespace

TEST_CASE("options out of range are refused") {
  Small model;
  CHECK(thrown<ShapeError>([&] { Trainer(model, CrossEntropyLoss{{.weight = {1, 2}}}, Sgd{}); }) ==
        "CrossEntropyLoss: values of weight: expected 3 (outputs of the net), got 2");
  CHECK(thrown<ArgumentError>([&] { Trainer(model, NLLLoss<3>{.weight = {1, -2, 1}}, Sgd{}); }) ==
        "NLLLoss: weight must be finite and >= 0, got -2");
  CHECK(thrown<ArgumentError>([&] { Trainer(model, CrossEntropyLoss{{.label_smoothing = 1.5}}, Sgd{}); }) ==
        "CrossEntropyLoss: label_smoothing must be 0 to 1, got 1.5");
  CHECK(thrown<ArgumentError>([&] { Trainer(model, HuberLoss{.delta = 0}, Sgd{}); }) ==
        "HuberLoss: delta must be finite and > 0, got 0");
  CHECK(thrown<ArgumentError>([&] { Trainer(model, SmoothL1Loss{.beta = -1}, Sgd{}); }) ==
        "SmoothL1Loss: beta must be finite and > 0, got -1");
  CHECK(thrown<ShapeError>([&] { Trainer(model, BCEWithLogitsLoss{.pos_weight = {2}}, Sgd{}); }) ==
        "BCEWithLogitsLoss: values of pos_weight: expected 3 (outputs of the net), got 1");
}

TEST_CASE("targets that don't fit are refused before anything changes") {
  Small model;
  const auto before = model.parameter("fc.weight");
  Trainer trainer{model, BCEWithLogitsLoss{}, Sgd{}};
  Tensor<float, Shape<6, 3>> t;
  t.copy_from(values);
  t(4, 2) = 1.5f;
  CHECK(thrown<DataError>([&] { trainer.step(images, t); }) ==
        "value 2 of the label of sample 4 in the batch: expected 0 to 1, got 1.5");
  t(4, 2) = std::numeric_limits<float>::quiet_NaN();
  CHECK(thrown<DataError>([&] { trainer.step(images, t); }).find("expected 0 to 1, got nan") !=
        std::string::npos);
  CHECK(thrown<ShapeError>([&] { trainer.step(images, part<Values>(values, 0, 5).labels); }) ==
        "labels of a batch: expected 6 (its samples), got 5");
  const TensorView<const float, Shape<dyn, dyn>> narrow(values.data(), 6, 2);
  CHECK_THROWS_AS(trainer.step(images, narrow), ShapeError);
  Trainer squares{model, MSELoss{}, Sgd{}};
  CHECK_THROWS_AS(squares.step(images, t), DataError);
  CHECK(model.parameter("fc.weight") == before);
  CHECK(trainer.steps() + squares.steps() == 0);
}

TEST_CASE("the targets of an erased net") {
  Model<erase_shapes<Net>, Input<dyn>> model{Dims{4}};
  Trainer trainer{model, MSELoss{}, Sgd{}};
  const TensorView<const float, Shape<dyn, dyn>> x(images.data(), 6, 4), wide(values.data(), 6, 2);
  CHECK(thrown<ShapeError>([&] { trainer.step(x, wide); }) ==
        "features of a batch's labels: expected 3 (the net's output), got 2");
  Small same;
  Trainer on_same{same, MSELoss{}, Sgd{}};
  CHECK(trainer.step(x, values) == on_same.step(images, values));
}

TEST_CASE("a batch in which no sample counts") {
  Small model;
  const std::vector<std::int32_t> none(6, -100), weightless(6, 1);
  CrossEntropyLoss loss{{.weight = {1, 0, 1}}};
  Trainer trainer{model, loss, Sgd{}};
  const auto message =
      "step 1: the loss is a mean over no sample of the batch: its labels are ignored or of classes of "
      "weight 0";
  CHECK(thrown<NumericError>([&] { trainer.step(images, none); }) == message);
  CHECK(thrown<NumericError>([&] { trainer.accumulate(images, weightless); }) == message);
  CHECK(thrown<DataError>([&] { trainer.step(images, std::vector<std::int32_t>(6, -1)); }) ==
        "label of sample 0 in the batch: expected 0 to 2, got -1");
  const Evaluation e = trainer.evaluate(std::vector{part<Classes>(none, 0, 6)});
  CHECK(e.count == 0);
  loss.options.reduction = Reduction::sum;
  Trainer sums{model, loss, Sgd{.lr = 1}};
  const auto before = model.parameter("fc.weight");
  CHECK(sums.step(images, none) == 0);
  CHECK(model.parameter("fc.weight") == before);
}

TEST_CASE("what is ignored has no part in an evaluation; a mean over batches is that over all samples") {
  Small model;
  const CrossEntropyLoss loss{{.weight = {0.5, 1, 3}, .ignore_index = 7}};
  const std::vector<std::int32_t> labels{0, 7, 2, 1, 7, 7};
  Trainer trainer{model, loss, Sgd{}};
  const Evaluation whole = trainer.evaluate(std::vector{part<Classes>(labels, 0, 6)});
  const Evaluation parts = trainer.evaluate(
      std::vector{part<Classes>(labels, 0, 2), part<Classes>(labels, 2, 2), part<Classes>(labels, 4, 2)});
  CHECK(whole.count == 3);
  CHECK(parts.count == 3);
  // A few roundings of float.
  CHECK(parts.loss == doctest::Approx(whole.loss).epsilon(1e-6));
  int right = 0;
  for (const int i : {0, 2, 3}) right += model.classify(images[i]) == labels[std::size_t(i)];
  CHECK(whole.accuracy == doctest::Approx(right / 3.0));
  CHECK(parts.accuracy == whole.accuracy);
}

TEST_CASE("accumulated batches are one batch by the weight of their samples") {
  Small a, b;
  const CrossEntropyLoss loss{{.weight = {0.5, 1, 3}, .ignore_index = 7}};
  const std::vector<std::int32_t> labels{0, 7, 2, 1, 0, 2};
  Trainer whole{a, loss, Sgd{.lr = 0.1}}, parts{b, loss, Sgd{.lr = 0.1}};
  whole.step(images, labels);
  parts.accumulate(part<Classes>(labels, 0, 2));
  parts.step(part<Classes>(labels, 2, 4));
  const auto g = a.gradient("fc.weight"), h = b.gradient("fc.weight");
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(h[i] == doctest::Approx(g[i]).epsilon(1e-5).scale(1));
  Trainer sums{a, MSELoss{.reduction = Reduction::sum}, Sgd{}};
  CHECK(thrown<ArgumentError>([&] { sums.accumulate(images, values); }) ==
        "accumulate: expected a loss with Reduction::mean, got Reduction::sum");
}

TEST_CASE("evaluation of values: no accuracy, and metrics see outputs and targets") {
  struct MeanError {
    double sum = 0;
    int count = 0;
    void update(const TensorView<const float, Shape<dyn, dyn>>& z,
                const TensorView<const float, Shape<dyn, dyn>>& t) {
      REQUIRE(z.shape() == t.shape());
      for (std::size_t i = 0; i < z.size(); ++i) sum += std::abs(double(z.data()[i]) - double(t.data()[i]));
      count += int(z.size());
    }
  } metric;
  Small model;
  Trainer mean{model, L1Loss{}, Sgd{}};
  const std::vector<Values> batches{part<Values>(values, 0, 4), part<Values>(values, 4, 2)};
  const Evaluation e = mean.evaluate(batches, metric);
  CHECK(e.count == 6);
  CHECK(std::isnan(e.accuracy));
  CHECK(metric.count == 18);
  CHECK(e.loss == doctest::Approx(metric.sum / metric.count).epsilon(1e-6));
  Trainer sum{model, L1Loss{.reduction = Reduction::sum}, Sgd{}};
  CHECK(sum.evaluate(batches).loss == doctest::Approx(metric.sum).epsilon(1e-6));
}

TEST_CASE("slopes against central differences") {
  // Away from kinks these losses' third derivatives are 2 at most: h^2 is all that is left.
  for (const double z : {-3.0, -0.4, 0.3, 2.0})
    for (const double t : {0.0, 0.25, 1.0}) {
      CHECK(slope_error(MSELoss{}, z, t) < 1e-9);
      CHECK(slope_error(L1Loss{}, z, t) < 1e-9);
      CHECK(slope_error(HuberLoss{.delta = 0.8}, z, t) < 1e-9);
      CHECK(slope_error(SmoothL1Loss{.beta = 0.8}, z, t) < 1e-9);
      CHECK(slope_error(LogCosh{}, z, t) < 1e-9);
      const double one[] = {1.5};
      CHECK(slope_error(BCEWithLogitsLoss::Formula<double>{{}, one, one}, z, t) < 1e-9);
    }
  CHECK(slope_error([](double z, double t, double& slope, int) { return slope = z * t; }, 2, 3) > 1);
}

TEST_CASE("a loss of one's own trains") {
  Small model;
  Trainer trainer{model, LogCosh{}, Sgd{.lr = 1}};
  const float first = trainer.step(images, values);
  for (int i = 0; i < 20; ++i) trainer.step(images, values);
  CHECK(trainer.step(images, values) < 0.5f * first);
}

TEST_CASE("scores far apart: finite losses and gradients") {
  Small model;
  model.set_parameter("fc.weight", std::vector<float>(12, 0));
  model.set_parameter("fc.bias", {-1000, 0, 1000});
  const std::vector<std::int32_t> first(6, 0);
  Trainer a{model, BCEWithLogitsLoss{}, Sgd{.lr = 0}};
  const Tensor<float, Shape<6, 3>> zeros;
  CHECK(a.step(images, zeros) == doctest::Approx((0 + std::log(2.0) + 1000) / 3));
  Trainer b{model, CrossEntropyLoss{{.label_smoothing = 0.1}}, Sgd{.lr = 0}};
  CHECK(b.step(images, first) == doctest::Approx(0.9 * 2000 + 0.1 / 3 * 3000));
}

TEST_CASE("nothing is allocated after the first step") {
  Small model;
  Trainer trainer{model, CrossEntropyLoss{CrossEntropyOptions{}}, Sgd{}};
  const std::vector<std::int32_t> labels{0, 1, 2, 1, 0, 2};
  trainer.step(images, labels);
  const long before = testing::allocations;
  trainer.step(images, labels);
  CHECK(testing::allocations == before);
}

namespace {
/// Pairs of numbers and their sum and difference.
struct Sums {
  using Sample = Shape<1, 1, 2>;
  using Targets = Shape<2>;
  static std::size_t size() { return 64; }
  data::Record get(std::size_t i) const {
    x = {float(i % 8) / 8, float(i / 8) / 8};
    y = {x[0] + x[1], x[0] - x[1]};
    return {{}, 0, x, y};
  }
  mutable std::array<float, 2> x{}, y{};
};
}  // namespace

TEST_CASE("a loader's values train a net") {
  data::DataLoader loader{Sums{}, data::Compose{}, {.batch_size = 16, .shuffle = true}};
  Model<Sequential<Flatten, Linear<2, 2>>, Input<1, 1, 2>> model;
  Trainer trainer{model, MSELoss{}, Sgd{.lr = 0.5}};
  for (int epoch = 0; epoch < 100; ++epoch)
    for (const auto& batch : loader) trainer.step(batch);
  // The mean of (x, 1) (x, 1)^T has eigenvalues from 0.058 to 1.41: with this rate a step leaves 1 - 0.5 *
  // 0.058 of an error at most, 400 steps leave 7e-6.
  CHECK(trainer.evaluate(loader).loss < 1e-6);
  const auto w = model.parameter("1.weight");
  for (int i = 0; i < 4; ++i) CHECK(w[std::size_t(i)] == doctest::Approx(i == 3 ? -1 : 1).epsilon(1e-2));
}
