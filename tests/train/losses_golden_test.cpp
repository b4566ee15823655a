// Losses against PyTorch's: value and gradient with each option, and nets that learn by them.
#include "kern/nn/nn.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/losses.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

constexpr int samples = 5, outputs = 7;
const std::vector<double> w{0.5, 1, 2, 0.25, 0, 3, 1.5}, w_reversed{w.rbegin(), w.rend()};
const std::vector<std::int32_t> labels{3, 6, 0, 5, 2}, ignored{3, -100, 0, -100, 2}, ignored_1{1, 6, 1, 5, 2};

/// A layer that changes nothing.
template <class Model>
void make_identity(Model& model) {
  for (const auto& name : model.parameter_names()) {
    auto v = model.parameter(name);
    const auto shape = model.parameter_shape(name);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = shape.size() > 1 && i % std::size_t(shape[0] + 1) == 0;
    model.set_parameter(name, v);
  }
}

/// What the loss makes of 8 times array 1, the output of the net's first layer. Scores z go into exp as
/// differences up to 16, rounded to 8 units of 1; sums have at most 24 terms, and there are a few operations
/// more: 48 units cover them.
template <class Net, class In, class T, class Loss, class Labels>
void check_loss_in(const std::string& name, const Loss& loss, const Labels& y) {
  CAPTURE(name);
  Model<Net, In, TestDevice, T> model{Seed{}, test_device(2)};
  make_identity(model);
  Trainer trainer{model, loss, Sgd{.lr = 0}};
  const auto x = formula_array<T>(1, std::size_t(samples * In::dims.size()), 8);
  struct Batch {
    TensorView<const T, typename In::Batch> images;
    typename decltype(trainer)::Labels labels;
  };
  const Batch batch{TensorView<const T, typename In::Batch>(x.data(), samples), y};

  const GoldenCase& c = golden("losses.txt", name);
  const T value = T(trainer.evaluate(std::vector{batch}).loss);
  check_close(c, "loss", std::vector{value}, 48);
  CHECK(trainer.step(batch) == doctest::Approx(double(value)).epsilon(1e-6));

  auto& e = model.executor();
  const graph::Stage& s = model.plan().stage[0];
  const auto image = s.image();
  const T* dz = e.backend().to_host(e.template output_gradient<1>(), std::size_t(samples * s.out_size()));
  std::vector<T> gradient;
  for (int i = 0; i < samples; ++i, dz += s.out_size())
    for (int k = 0; k < image.c; ++k)
      for (int p = 0; p < image.h * image.w; ++p) gradient.push_back(dz[p * s.cols() + k]);
  check_close(c, "dz", gradient, 48);
}
using Scores = Sequential<Linear<outputs, outputs>>;
using LogProbabilities = Sequential<Linear<outputs, outputs>, LogSoftmax>;

template <class Net = Scores, class Loss>
void check_loss(const std::string& name, const Loss& loss, const std::vector<std::int32_t>& y) {
  check_loss_in<Net, Input<outputs>, float>(name, loss, std::span<const std::int32_t>(y));
#ifndef KERN_TEST_FLOAT_ONLY
  check_loss_in<Net, Input<outputs>, double>(name, loss, std::span<const std::int32_t>(y));
#endif
}
/// Array 2; of probabilities its upper half, 0 elsewhere.
template <class T>
std::vector<T> targets(std::size_t n, bool probabilities = false) {
  auto t = formula_array<T>(2, n);
  for (T& v : t)
    if (probabilities && v < 0) v = 0;
  return t;
}
template <class T, class Loss>
void check_values(const std::string& name, const Loss& loss) {
  const auto t = targets<T>(samples * outputs, std::is_same_v<Loss, BCEWithLogitsLoss>);
  check_loss_in<Scores, Input<outputs>, T>(name, loss,
                                           TensorView<const T, Shape<dyn, outputs>>(t.data(), samples));
}
template <class Loss>
void check_loss(const std::string& name, const Loss& loss) {
  check_values<float>(name, loss);
#ifndef KERN_TEST_FLOAT_ONLY
  check_values<double>(name, loss);
#endif
}

/// Losses of 20 steps with momentum, and the parameters after them.
template <class T, class Loss, class Labels>
void check_training(const std::string& name, const Loss& loss, const Labels& y) {
  CAPTURE(name);
  Model<Sequential<Linear<6, 9>, ReLU, Linear<9, 7>>, Input<6>, TestDevice, T> model{Seed{}, test_device(2)};
  fill(model);
  Trainer trainer{model, loss, Sgd{.lr = 0.1, .momentum = 0.9}};
  const auto x = formula_array<T>(1, 8 * 6);
  const GoldenCase& c = golden("losses.txt", name);
  std::vector<float> losses;
  for (int i = 0; i < 20; ++i)
    losses.push_back(trainer.step(TensorView<const T, Shape<dyn, 6>>(x.data(), 8), y));
  check_as_accurate(c, "losses", losses);
  int k = 0;
  for (const auto& p : model.parameter_names())
    check_as_accurate(c, "p" + std::to_string(k++), model.parameter(p));
}
template <class T>
void check_training() {
  const std::vector<std::int32_t> classes{0, 3, 6, 2, 5, 1, 4, 0};
  check_training<T>("train_ce", CrossEntropyLoss{{.weight = w, .ignore_index = 6, .label_smoothing = 0.1}},
                    std::span<const std::int32_t>(classes));
  const auto t = targets<T>(8 * 7);
  check_training<T>("train_huber", HuberLoss{.delta = 0.5}, TensorView<const T, Shape<dyn, 7>>(t.data(), 8));
}

}  // namespace

TEST_CASE("CrossEntropyLoss") {
  check_loss("ce", CrossEntropyLoss{}, labels);
  check_loss("ce", CrossEntropyLoss{CrossEntropyOptions{}}, labels);
  check_loss("ce_weight", CrossEntropyLoss{{.weight = w}}, labels);
  check_loss("ce_ignored", CrossEntropyLoss{CrossEntropyOptions{}}, ignored);
  check_loss("ce_ignore_index", CrossEntropyLoss{{.weight = w, .ignore_index = 1}}, ignored_1);
  check_loss("ce_smoothing", CrossEntropyLoss{{.label_smoothing = 0.1}}, labels);
  const CrossEntropyLoss all{{.weight = w, .ignore_index = 1, .label_smoothing = 0.3}};
  check_loss("ce_all", all, ignored_1);
  check_loss<LogProbabilities>("ce_all", all, ignored_1);
  check_loss("ce_sum", CrossEntropyLoss{{.weight = w, .reduction = Reduction::sum, .label_smoothing = 0.3}},
             ignored);
}

TEST_CASE("NLLLoss") {
  check_loss<LogProbabilities>("nll", NLLLoss{}, labels);
  check_loss<LogProbabilities>("nll_all", NLLLoss<7>{.weight = w, .ignore_index = 1}, ignored_1);
  check_loss<LogProbabilities>("nll_sum", NLLLoss<7>{.weight = w, .reduction = Reduction::sum}, ignored);
}

TEST_CASE("losses of values") {
  check_loss("mse", MSELoss{});
  check_loss("mse_sum", MSELoss{.reduction = Reduction::sum});
  check_loss("l1", L1Loss{});
  check_loss("l1_sum", L1Loss{.reduction = Reduction::sum});
  check_loss("huber", HuberLoss{});
  check_loss("huber_delta", HuberLoss{.reduction = Reduction::sum, .delta = 2.5});
  check_loss("smooth_l1", SmoothL1Loss{});
  check_loss("smooth_l1_beta", SmoothL1Loss{.beta = 0.5});
  check_loss("bce", BCEWithLogitsLoss{});
  check_loss("bce_weight", BCEWithLogitsLoss{.weight = w});
  check_loss("bce_pos_weight", BCEWithLogitsLoss{.pos_weight = w});
  check_loss("bce_all",
             BCEWithLogitsLoss{.weight = w, .reduction = Reduction::sum, .pos_weight = w_reversed});
}

#ifndef KERN_TEST_ON_CUDA  // the loss is the same; a convolution's kernels take nvcc long
TEST_CASE("an image for output: its channels are stored with padding between") {
  const auto t = targets<float>(samples * 3 * 2 * 4);
  check_loss_in<Sequential<Conv2d<3, 3, 1>>, Input<3, 2, 4>, float>(
      "mse_image", MSELoss{}, TensorView<const float, Shape<dyn, 3, 2, 4>>(t.data(), samples));
}
#endif

TEST_CASE("20 steps") {
  check_training<float>();
#ifndef KERN_TEST_FLOAT_ONLY
  check_training<double>();
#endif
}
