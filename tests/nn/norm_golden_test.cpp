// Normalisations against PyTorch's: a training pass both ways, the running statistics after it, and inference
// with these, where batch norms are folded into what stands before them.
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "norms_golden.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

template <class In, class... Layers>
void check_norms(const char* name, int batch) {
  using Net = Sequential<Layers...>;
  const auto one = check_norms_in<Net, In, float>("norms.txt", name, batch, 1);
#ifndef KERN_TEST_FLOAT_ONLY
  check_norms_in<Net, In, double>("norms.txt", name, batch, 2);
  CHECK(check_norms_in<Net, In, float>("norms.txt", name, batch, 3) == one);
  CHECK(check_norms_in<erase_shapes<Net>, In, float>("norms.txt", name, batch, 2) == one);
#endif
}

}  // namespace

TEST_CASE("norms behind convolutions and linear layers") {
  check_norms<Input<2, 6, 7>, Conv2d<2, 5, 3>, BatchNorm2d<5>, ReLU, MaxPool2d<2>, Conv2d<5, 6, 2, 1, 1>,
              BatchNorm2d<6, 1e-3, 0.3>, Flatten, Linear<54, 9>, BatchNorm1d<9>, Tanh, Linear<9, 4>>(
      "norm_conv", 5);
}

TEST_CASE("a norm of the input, and of each element of an image") {
  check_norms<Input<3, 4, 5>, BatchNorm2d<3>, ReLU, Flatten, BatchNorm1d<60, 1e-5, 0.1, Affine::off>,
              Linear<60, 4>>("norm_first", 7);
}

TEST_CASE("norms before padding, without parameters, with ops that need their input") {
  check_norms<Input<3, 6, 5>, Conv2d<3, 4, 3>, ReLU, BatchNorm2d<4, 1e-5, 0.1, Affine::off>, GELU<>,
              Conv2d<4, 3, 3, 1, 1, Bias::off>, BatchNorm2d<3>>("norm_pad", 3);
}

TEST_CASE("norms of flat inputs alone") {
  check_norms<Input<6>, BatchNorm1d<6>, Linear<6, 5, Bias::off>, BatchNorm1d<5>, SiLU>("norm_flat", 4);
}

TEST_CASE("norms behind convolutions in groups") {
  check_norms<Input<4, 6, 5>, Conv2d<4, 8, 3, 1, 1, Groups{2}>, BatchNorm2d<8>, ReLU,
              Conv2d<8, 8, 3, 1, 2, Dilation{2}, Groups{8}, Bias::off>, BatchNorm2d<8>>("norm_groups", 3);
}

TEST_CASE("layer normalisation of images and flat samples") {
  check_norms<Input<3, 5, 6>, LayerNorm<3, 5, 6>, Conv2d<3, 5, 3, 1, 1>, LayerNorm<5, 5, 6, 1e-3, Bias::off>,
              ReLU, Conv2d<5, 4, 3, 1, 1>, Flatten, LayerNorm<120>, Linear<120, 6>>("layer_norm_first", 5);
  check_norms<Input<20>, Linear<20, 30>, LayerNorm<30>, Tanh, LayerNorm<30, Affine::off>, GELU<>,
              Linear<30, 7>, LayerNorm<7>>("layer_norm_flat", 9);
}

// PyTorch: "Expected more than 1 value per channel when training".
TEST_CASE("a batch with one value a channel has no variance") {
  using Net = Sequential<Named<"fc", Linear<6, 5>>, Named<"bn", BatchNorm1d<5>>>;
  Model<Net, Input<6>, TestDevice> model{Seed{0}, test_device(1)};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  const Tensor<float, Shape<dyn, 6>> x = rand<float, Shape<dyn, 6>>(Seed{1}, 2);
  const std::vector<std::int32_t> labels{1, 2};
  const auto before = model.parameter("fc.weight");
  CHECK_THROWS_WITH_AS(trainer.step(TensorView<const float, Shape<dyn, 6>>(x.data(), 1), {labels.data(), 1}),
                       "layer 1 (bn): training needs more than 1 value a channel, got 1: a batch of 1",
                       ArgumentError);
  CHECK(model.parameter("fc.weight") == before);
  trainer.step(x, labels);
  CHECK(model.parameter("fc.weight") != before);
}

// What a loss that is not finite must not touch; and each batch that is accumulated counts, as in PyTorch.
TEST_CASE("running statistics follow the batches that were trained on") {
  using Net = Sequential<Named<"bn", BatchNorm1d<3>>, Linear<3, 2>>;
  Model<Net, Input<3>, TestDevice> model{Seed{0}, test_device(1)};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  Tensor<float, Shape<dyn, 3>> x(2);
  for (int i = 0; i < 6; ++i) x.data()[i] = float(i);  // means 1.5, 2.5, 3.5, unbiased variances 4.5
  const std::vector<std::int32_t> labels{0, 1};
  const auto out = model.predict(x);
  trainer.accumulate(x, labels);
  CHECK(model.buffer("bn.running_mean")[1] == doctest::Approx(0.25));
  CHECK(model.buffer("bn.running_var")[1] == doctest::Approx(0.9 + 0.45));
  trainer.step(x, labels);
  CHECK(model.buffer("bn.running_mean")[2] == doctest::Approx(0.9 * 0.35 + 0.35));
  const auto mean = model.buffer("bn.running_mean");
  CHECK(model.predict(x).data()[0] != out.data()[0]);
  x.data()[0] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(trainer.step(x, labels), NumericError);
  CHECK(model.buffer("bn.running_mean") == mean);
}
