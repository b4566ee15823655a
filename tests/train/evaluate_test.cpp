// What Trainer::evaluate hands to metrics.
#include <doctest/doctest.h>

#include <vector>

#include "kern/data/loader.hpp"
#include "kern/data/tensor_dataset.hpp"
#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/metrics.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"

using namespace kern;
using namespace kern::nn;

namespace {
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

TEST_CASE("metrics get every batch's outputs, in PyTorch's order of classes, and its labels") {
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
