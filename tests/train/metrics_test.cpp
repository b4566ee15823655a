#include "kern/train/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kern/data/loader.hpp"
#include "kern/data/tensor_dataset.hpp"
#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::nn;
using kern::testing::thrown;

namespace {
using Labels = std::vector<std::int32_t>;
/// Scores with a 1 for the class that is predicted of each sample.
Tensor<float, Shape<dyn, dyn>> predictions(int classes, const Labels& predicted) {
  Tensor<float, Shape<dyn, dyn>> scores(predicted.size(), classes);
  scores.fill(0);
  for (std::size_t i = 0; i < predicted.size(); ++i) scores(int(i), predicted[i]) = 1;
  return scores;
}
/// Keeps what it is given.
struct Kept {
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
  void update(const TensorView<const float, Shape<dyn, dyn>>& s, std::span<const std::int32_t> l) {
    scores.insert(scores.end(), s.begin(), s.end());
    labels.insert(labels.end(), l.begin(), l.end());
  }
};
}  // namespace

TEST_CASE("accuracy over several batches, and top-k") {
  const Tensor<float, Shape<3, 4>> scores{0.1f, 0.4f, 0.3f, 0.2f, 9, -1, 3, 5, -4, -3, -2, -1};
  Accuracy one, two{2}, all{4};
  CHECK(one.compute() == 0);
  const auto update = [&](const Labels& labels) {
    for (Accuracy* a : {&one, &two, &all}) a->update(scores, labels);
  };
  update({1, 3, 0});
  CHECK(one.compute() == doctest::Approx(1.0 / 3));
  CHECK(two.compute() == doctest::Approx(2.0 / 3));
  update({2, 0, 3});
  CHECK(one.compute() == doctest::Approx(3.0 / 6));
  CHECK(two.compute() == doctest::Approx(5.0 / 6));
  CHECK(all.compute() == 1);
  CHECK(all.count() == 6);
  two.reset();
  CHECK(two.count() == 0);
  two.update(scores, Labels{1, 0, 3});
  CHECK(two.compute() == 1);
}

TEST_CASE(
    "equal scores, infinite ones and nan come in the order of torch.sort(stable=True, descending=True)") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // torch.sort(torch.tensor([...]), stable=True, descending=True).indices
  const Tensor<float, Shape<1, 8>> scores{2, nan, -inf, 2, inf, 0, nan, 2};
  const std::int32_t order[] = {1, 6, 4, 0, 3, 7, 5, 2};
  for (int place = 0; place < 8; ++place)
    for (int k = 1; k <= 8; ++k) {
      Accuracy a{k};
      a.update(scores, Labels{order[place]});
      CHECK(a.compute() == (place < k));
    }
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Tensor<double, Shape<dyn, dyn>> tied(1, 6);
    for (double& v : tied) v = double(random() % 3);
    int sorted[] = {0, 1, 2, 3, 4, 5};
    std::sort(sorted, sorted + 6,
              [&](int a, int b) { return std::pair(-tied(0, a), a) < std::pair(-tied(0, b), b); });
    Accuracy third{3};
    ConfusionMatrix first{6};
    const auto label = std::int32_t(random() % 6);
    third.update(tied, Labels{label});
    first.update(tied, Labels{label});
    CHECK(third.compute() == (std::find(sorted, sorted + 3, label) != sorted + 3));
    CHECK(first(label, sorted[0]) == 1);
  }
}

TEST_CASE("confusion matrix, precision and recall by their definitions") {
  ConfusionMatrix m{3};
  m.update(predictions(3, {0, 0, 1, 1}), Labels{0, 0, 0, 1});
  m.update(predictions(3, {0, 1, 0}), Labels{1, 1, 2});
  // Of class 0: two right, one taken for 1; of 1: two right, one taken for 0; of 2: one, taken for 0.
  const std::size_t expected[3][3] = {{2, 1, 0}, {1, 2, 0}, {1, 0, 0}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) CHECK(m(i, j) == expected[i][j]);
  CHECK(m.count() == 7);
  CHECK(m.accuracy() == doctest::Approx(4.0 / 7));
  CHECK(m.precision(0) == doctest::Approx(2.0 / 4));
  CHECK(m.precision(1) == doctest::Approx(2.0 / 3));
  CHECK(m.precision(2) == 0);  // nothing was taken for it
  CHECK(m.recall(0) == doctest::Approx(2.0 / 3));
  CHECK(m.recall(1) == doctest::Approx(2.0 / 3));
  CHECK(m.recall(2) == 0);
  const char* const names[] = {"cat", "dog", "aardvark"};
  CHECK(to_string(m, names) ==
        "true \\ predicted    cat    dog  aardvark          recall\n"
        "cat                   2      1         0           0.667\n"
        "dog                   1      2         0           0.667\n"
        "aardvark              1      0         0           0.000\n"
        "precision         0.500  0.667     0.000  accuracy 0.571\n");
  m.reset();
  CHECK(m.count() == 0);
  CHECK(m.accuracy() == 0);
  CHECK(to_string(ConfusionMatrix{1}) ==
        "true \\ predicted      0          recall\n"
        "0                     0           0.000\n"
        "precision         0.000  accuracy 0.000\n");
}

TEST_CASE("what doesn't fit is refused, and nothing is counted") {
  const auto scores = predictions(3, {0, 1});
  Accuracy a{3};
  ConfusionMatrix m{3}, four{4};
  CHECK(thrown<ShapeError>([&] { a.update(scores, Labels{0}); }) ==
        "Accuracy: expected 2 labels, one for each sample, got 1");
  CHECK(thrown<DataError>([&] { m.update(scores, Labels{0, 3}); }) ==
        "ConfusionMatrix: label of sample 1: expected 0 to 2, got 3");
  CHECK(thrown<DataError>([&] { a.update(scores, Labels{-1, 0}); }) ==
        "Accuracy: label of sample 0: expected 0 to 2, got -1");
  CHECK(thrown<ShapeError>([&] { four.update(scores, Labels{0, 1}); }) ==
        "ConfusionMatrix: expected scores of 4 classes, got 3");
  CHECK(thrown<ArgumentError>([&] { Accuracy{4}.update(scores, Labels{0, 1}); }) ==
        "Accuracy: top_k = 4 of 3 classes");
  CHECK(a.count() + m.count() == 0);
  CHECK(thrown<ArgumentError>([] { Accuracy{0}; }) == "Accuracy: top_k must be at least 1, got 0");
  CHECK(thrown<ArgumentError>([] { ConfusionMatrix{0}; }) ==
        "ConfusionMatrix: expected at least 1 class, got 0");
  CHECK(thrown<ArgumentError>([&] { m(0, 3); }) == "ConfusionMatrix: expected a class of 0 to 2, got 3");
  const char* const names[] = {"a"};
  CHECK(thrown<ArgumentError>([&] { to_string(m, names); }) == "ConfusionMatrix: expected 3 names, got 1");
}

TEST_CASE(
    "Trainer::evaluate hands over every batch's outputs, in PyTorch's order of classes, and its labels") {
  Model<Sequential<Conv2d<1, 3, 2>, Flatten>, Input<1, 2, 3>> model{Seed{2}};  // 3 channels of 1 x 2
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  const auto images = randn<float, Shape<dyn, 1, 2, 3>>(Seed{1}, 5);
  const std::vector<std::int32_t> labels{5, 0, 3, 3, 1};
  data::DataLoader loader{data::TensorDataset{images, labels, 6}, data::Compose{}, {.batch_size = 2}};
  Kept kept;
  Accuracy one, all{6};
  ConfusionMatrix confusion{6};
  const Evaluation result = trainer.evaluate(loader, kept, one, all, confusion);
  const auto expected = model.predict(images);
  REQUIRE(kept.scores.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(kept.scores[i] == doctest::Approx(expected.data()[i]).epsilon(1e-6));
  CHECK(kept.labels == labels);
  CHECK(one.compute() == result.accuracy);
  CHECK(confusion.accuracy() == result.accuracy);
  CHECK(all.compute() == 1);
  CHECK(confusion.count() == 5);
  CHECK(result.loss == trainer.evaluate(loader).loss);
}
