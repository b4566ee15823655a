// What a trainer promises beside right numbers: the same bits, no allocation, little stack, clear errors.
#include "kern/train/trainer.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <cstring>
#include <limits>
#include <vector>

#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "support/allocations.hpp"

using namespace kern;
using namespace kern::nn;

using LeNet = Sequential<Named<"conv1", Conv2d<1, 16, 3>>, ReLU, Named<"conv2", Conv2d<16, 32, 3>>, ReLU,  //
                         MaxPool2d<2>, Dropout2d<0.25>, Flatten,                                           //
                         Named<"fc1", Linear<4608, 128>>, ReLU, Dropout<0.5>, Named<"fc2", Linear<128, 10>>,
                         LogSoftmax>;
using Image = Input<1, 28, 28>;

namespace {

constexpr int batch_size = 13;  // no multiple of anything
struct Data {
  Tensor<float, Shape<dyn, 1, 28, 28>> images = randn<float, Shape<dyn, 1, 28, 28>>(Seed{3}, batch_size);
  std::vector<std::int32_t> labels = [] {
    std::vector<std::int32_t> l(batch_size);
    for (int i = 0; i < batch_size; ++i) l[std::size_t(i)] = i * 7 % 10;
    return l;
  }();
};

/// All parameters after some steps.
template <class Net, class Clip = NoClip>
std::vector<float> train(int threads, int steps, const Data& data, Clip clip = {}) {
  Model<Net, Image> model{Seed{1}, Host{threads}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}, clip};
  for (int i = 0; i < steps; ++i) trainer.step(data.images, data.labels);
  std::vector<float> all;
  for (const auto& name : model.parameter_names()) {
    const auto v = model.parameter(name);
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
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

}  // namespace

TEST_CASE("the same bits for any number of threads, from run to run, and for erased shapes") {
  const Data data;
  const auto one = train<LeNet>(1, 4, data);
  CHECK(same_bits(one, train<LeNet>(1, 4, data)));
  CHECK(same_bits(one, train<LeNet>(2, 4, data)));
  CHECK(same_bits(one, train<LeNet>(3, 4, data)));
  CHECK(same_bits(one, train<erase_shapes<LeNet>>(2, 4, data)));
  CHECK_FALSE(same_bits(one, train<LeNet>(1, 5, data)));
  const auto clipped = train<LeNet>(1, 4, data, ClipNorm{0.5});
  CHECK(same_bits(clipped, train<LeNet>(3, 4, data, ClipNorm{0.5})));
  CHECK_FALSE(same_bits(clipped, one));
}

TEST_CASE("the norm is that of all gradients") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}, ClipNorm{0.5}};
  CHECK(trainer.gradient_norm() == 0);  // of no step yet
  trainer.step(data.images, data.labels);
  double sum = 0;
  for (const auto& name : model.parameter_names())
    for (const float g : model.gradient(name)) sum += double(g) * double(g);
  // The backend adds 16384 squares in floats, at least four in parallel: 4096 roundings of 2^-24 at most.
  CHECK(trainer.gradient_norm() == doctest::Approx(std::sqrt(sum)).epsilon(4096 * 0x1p-24));
}

TEST_CASE("accumulated batches are one batch, whatever their sizes; those that fail leave no trace") {
  using Plain = Sequential<Flatten, Linear<784, 10>>;
  const Data data;
  const auto part = [&](int first, int n) {
    return std::pair(TensorView<const float, Shape<dyn, 1, 28, 28>>(data.images.data() + first * 784, n),
                     std::span(data.labels).subspan(std::size_t(first), std::size_t(n)));
  };
  Model<Plain, Image> a{Seed{1}}, b{Seed{1}};
  Trainer whole{a, CrossEntropyLoss{}, Sgd{.lr = 0.05}}, parts{b, CrossEntropyLoss{}, Sgd{.lr = 0.05}};
  Data bad;
  bad.images(2, 0, 3, 3) = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 3; ++i) {
    whole.step(data.images, data.labels);
    parts.accumulate(part(0, 2).first, part(0, 2).second);
    CHECK_THROWS_AS(parts.accumulate(bad.images, bad.labels), NumericError);
    CHECK_THROWS_AS(parts.accumulate(data.images, std::span(data.labels).first(3)), ShapeError);
    parts.accumulate(part(2, 7).first, part(2, 7).second);
    CHECK_THROWS_AS(parts.step(bad.images, bad.labels), NumericError);
    CHECK(parts.steps() == i);
    parts.step(part(9, 4).first, part(9, 4).second);
    for (const auto& name : a.parameter_names()) {
      const auto g = a.gradient(name), h = b.gradient(name);
      double off = 0;
      for (std::size_t k = 0; k < g.size(); ++k) off = std::max(off, std::abs(double(g[k]) - double(h[k])));
      // 13 additions in another order and three means, each rounded at the size of a pixel (5 at most) times
      // a mean of probabilities.
      CHECK(off <= 20 * 0x1p-24 * 5);
    }
  }
}

TEST_CASE("dropout in a batch that is accumulated is drawn anew") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  const float first = trainer.accumulate(data.images, data.labels);
  CHECK(trainer.accumulate(data.images, data.labels) != first);
}

TEST_CASE("a step on a smaller batch after a larger one is as if it had come first") {
  const Data data;
  const TensorView<const float, Shape<dyn, 1, 28, 28>> five(data.images.data(), 5);
  const std::span<const std::int32_t> labels(data.labels.data(), 5);
  Model<LeNet, Image> a{Seed{1}}, b{Seed{1}};
  Trainer ta{a, CrossEntropyLoss{}, Sgd{.lr = 0}}, tb{b, CrossEntropyLoss{}, Sgd{.lr = 0}};
  ta.step(data.images, data.labels);
  tb.step(five, labels);
  CHECK(ta.step(five, labels) == tb.step(five, labels));
  CHECK(same_bits(a.gradient("conv1.weight"), b.gradient("conv1.weight")));
}

TEST_CASE("nothing is allocated after the first step") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}, Host{2}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.5}, ClipNorm{0.5}};
  trainer.accumulate(data.images, data.labels);
  trainer.step(data.images, data.labels);
  model.executor().infer(data.images.data(), batch_size);
  const long before = testing::allocations;
  for (int i = 0; i < 3; ++i) {
    trainer.step(data.images, data.labels);
    trainer.accumulate(TensorView<const float, Shape<dyn, 1, 28, 28>>(data.images.data(), 7),
                       std::span(data.labels).first(7));
    model.executor().infer(data.images.data(), batch_size);
  }
  CHECK(testing::allocations == before);
}

TEST_CASE("a thread with a stack of 256 KiB can make, train and ask a model") {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  bool done = false;
  auto work = [](void* out) -> void* {
    const Data data;
    Model<LeNet, Image> model{Seed{1}, Host{1}};
    Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
    trainer.step(data.images, data.labels);
    model.predict(data.images.view());
    *static_cast<bool*>(out) = true;
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, work, &done) == 0);
  pthread_join(thread, nullptr);
  CHECK(done);
}

TEST_CASE("a batch predicts what its samples predict alone; evaluation agrees") {
  const Data data;
  for (int threads : {1, 2, 3}) {
    Model<LeNet, Image> model{Seed{1}, Host{threads}};
    const auto all = model.predict(data.images.view());
    REQUIRE(all.shape() == std::array{batch_size, 10});
    int right = 0;
    double loss = 0;
    for (int i = 0; i < batch_size; ++i) {
      const auto one = model.predict(data.images[i]);
      double sum = 0;
      for (int j = 0; j < 10; ++j) {
        CHECK(one(j) == all(i, j));
        sum += std::exp(double(one(j)));
      }
      CHECK(sum == doctest::Approx(1).epsilon(
                       1e-5));  // log-probabilities: 10 float exps of relative error 2^-23 * 20
      const int best = int(std::max_element(one.begin(), one.end()) - one.begin());
      CHECK(model.classify(data.images[i]) == best);
      right += best == data.labels[std::size_t(i)];
      loss -= double(one(data.labels[std::size_t(i)]));
    }
    Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
    struct Batch {
      TensorView<const float, Shape<dyn, 1, 28, 28>> images;
      std::span<const std::int32_t> labels;
    };
    const Evaluation e =
        trainer.evaluate(std::vector{Batch{data.images, data.labels}, Batch{data.images, data.labels}});
    CHECK(e.count == 2 * batch_size);
    CHECK(e.accuracy == doctest::Approx(double(right) / batch_size));
    CHECK(e.loss == doctest::Approx(loss / batch_size).epsilon(1e-5));
  }
}

TEST_CASE("bad batches are refused before anything changes") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  const auto before = model.parameter("fc2.weight");
  auto labels = data.labels;
  labels[4] = 10;
  CHECK(thrown<DataError>([&] { trainer.step(data.images, labels); }) ==
        "label of sample 4 in the batch: expected 0 to 9, got 10");
  labels[4] = -1;
  CHECK(thrown<DataError>([&] { trainer.step(data.images, labels); }) ==
        "label of sample 4 in the batch: expected 0 to 9, got -1");
  labels.pop_back();
  CHECK(thrown<ShapeError>([&] { trainer.step(data.images, labels); }) ==
        "labels of a batch: expected 13 (its samples), got 12");
  CHECK(thrown<ArgumentError>([&] {
          trainer.step(TensorView<const float, Shape<dyn, 1, 28, 28>>(nullptr, 0),
                       std::span<const std::int32_t>());
        }) == "a batch has at least 1 sample, got 0");
  CHECK(same_bits(before, model.parameter("fc2.weight")));
  CHECK(trainer.steps() == 0);
}

TEST_CASE("a loss that is not finite stops, with the step and the layer, and leaves the parameters") {
  Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  trainer.step(data.images, data.labels);
  auto weights = model.parameter("conv2.weight");
  weights[7] = std::numeric_limits<float>::quiet_NaN();
  model.set_parameter("conv2.weight", weights);
  const auto before = model.parameter("fc1.weight");
  CHECK(thrown<NumericError>([&] { trainer.step(data.images, data.labels); }) ==
        "step 2: the loss is nan; a value of conv2.weight was not finite before this step: it was set so, or "
        "the step before was too large; a smaller learning rate may help");
  CHECK(same_bits(before, model.parameter("fc1.weight")));
  CHECK(trainer.steps() == 1);
  data.images(3, 0, 5, 5) = std::numeric_limits<float>::infinity();
  CHECK(thrown<NumericError>([&] { trainer.step(data.images, data.labels); }) ==
        "step 2: the loss is nan; sample 3 of the batch has a pixel that is not finite");
}

TEST_CASE("what is not finite, or too large, before the first step is no matter of the learning rate") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  auto weights = model.parameter("conv2.weight");
  weights[7] = std::numeric_limits<float>::infinity();
  model.set_parameter("conv2.weight", weights);
  const auto message = [&] { return thrown<NumericError>([&] { trainer.step(data.images, data.labels); }); };
  CHECK(message().ends_with("; a value of conv2.weight was not finite before the first step"));
  std::fill(weights.begin(), weights.end(), std::numeric_limits<float>::max());
  model.set_parameter("conv2.weight", weights);
  CHECK(
      message().ends_with("; the first output that is not finite is that of layer 2 (conv2); samples or "
                          "parameters are too large"));
}

TEST_CASE("a learning rate that diverges is reported, not trained through") {
  const Data data;
  Model<LeNet, Image> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 1e6}};
  CHECK(thrown<NumericError>([&] {
          for (int i = 0; i < 50; ++i) trainer.step(data.images, data.labels);
        }).find("the loss is") != std::string::npos);
}

namespace {
/// Cross-entropy of z is that of log_softmax(z): a net and the same with LogSoftmax behind it train alike.
template <class In, class... L>
void check_log_softmax(const char* name, int batch) {
  CAPTURE(name);
  Model<Sequential<L...>, In> plain{Seed{1}};
  Model<Sequential<L..., LogSoftmax>, In> with{Seed{1}};
  const int classes = plain.plan().output().size();
  Trainer a{plain, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  Trainer b{with, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  const auto x = kern::rand<float, typename In::Batch>(Seed{2}, batch);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < batch; ++i) labels.push_back(i % classes);
  for (int i = 0; i < 3; ++i) {
    CHECK(a.step(x, labels) == b.step(x, labels));
    for (const auto& p : plain.parameter_names()) CHECK(same_bits(plain.gradient(p), with.gradient(p)));
  }
}
}  // namespace

TEST_CASE("a log-softmax at the end changes nothing, whatever stands before it") {
  for (int batch : {1, 5, 64, 130}) {
    CAPTURE(batch);
    check_log_softmax<Input<1, 6, 6>, Conv2d<1, 4, 3>, Flatten>("conv", batch);
    check_log_softmax<Input<1, 9, 9>, Conv2d<1, 8, 3>, ReLU, Conv2d<8, 10, 3>, ReLU, MaxPool2d<2>, Flatten>(
        "convs", batch);
    check_log_softmax<Input<1, 5, 5>, Conv2d<1, 1, 1>, MaxPool2d<2, 1>, Flatten>("pool", batch);
    check_log_softmax<Input<1, 6, 6>, Conv2d<1, 3, 3>, Flatten, Linear<48, 7>, ReLU, Linear<7, 5>>("linear",
                                                                                                   batch);
    check_log_softmax<Input<30>, Linear<30, 7>>("one linear", batch);
  }
}

// PyTorch's numbers for these parameters: torch.nn.functional.cross_entropy(log_softmax(conv(x),
// 1).flatten(1), y).
TEST_CASE("a log-softmax over the channels at each place is not the loss's own") {
  using Net = Sequential<Conv2d<1, 2, 1>, LogSoftmax, Flatten>;
  Model<Net, Input<1, 1, 2>> model;
  model.set_parameter("0.weight", {0.5f, -0.25f});
  model.set_parameter("0.bias", {0.125f, 0.75f});
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0}};
  const Tensor<float, Shape<1, 1, 1, 2>> x{1, -2};
  const std::vector<std::int32_t> y{1};
  struct Batch {
    TensorView<const float, Shape<dyn, 1, 1, 2>> images;
    std::span<const std::int32_t> labels;
  };
  CHECK(trainer.step(x, y) == doctest::Approx(2.930969459).epsilon(1e-6));
  CHECK(trainer.evaluate(std::vector<Batch>{{x, y}}).loss == doctest::Approx(2.930969459).epsilon(1e-6));
  const auto g = model.gradient("0.weight");
  CHECK(g[0] == doctest::Approx(1.786618812).epsilon(1e-5));
  CHECK(g[1] == doctest::Approx(-1.786618812).epsilon(1e-5));
}

TEST_CASE("evaluation says what is not finite") {
  Model<Sequential<Named<"fc", Linear<3, 2>>>, Input<3>> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  Tensor<float, Shape<2, 3>> x;
  const std::vector<std::int32_t> y{0, 1};
  struct Batch {
    TensorView<const float, Shape<dyn, 3>> images;
    std::span<const std::int32_t> labels;
  };
  const std::vector<Batch> data{{x, y}};
  model.set_parameter("fc.bias", {0, std::numeric_limits<float>::quiet_NaN()});
  CHECK(thrown<NumericError>([&] { trainer.evaluate(data); }) ==
        "evaluate: the loss is nan in the batch that begins with sample 0; a value of fc.bias is not finite");
  x(1, 2) = std::numeric_limits<float>::infinity();
  CHECK(thrown<NumericError>([&] { trainer.evaluate(data); }).find("sample 1 of the batch has a feature") !=
        std::string::npos);

  Model<Sequential<Named<"bn", BatchNorm1d<3>>, Linear<3, 2>>, Input<3>> normalised;
  Trainer other{normalised, CrossEntropyLoss{}, Sgd{}};
  x(1, 2) = 0;
  normalised.set_buffer("bn.running_mean", {0, std::numeric_limits<float>::quiet_NaN(), 0});
  CHECK(thrown<NumericError>([&] {
          other.evaluate(data);
        }).ends_with("; a value of bn.running_mean is not finite"));
}

TEST_CASE("a loss whose classes are not the erased net's outputs") {
  Model<erase_shapes<Sequential<Linear<4, 5>>>, Input<dyn>> model{Dims{4}};
  CHECK(thrown<ShapeError>([&] { Trainer(model, CrossEntropyLoss<7>{}, Sgd{}); }) ==
        "classes of the loss: expected 5 (outputs of the net), got 7");
}

TEST_CASE("optimizers refuse what torch.optim.SGD refuses") {
  Model<Sequential<Flatten, Linear<784, 10>>, Image> model;
  auto with = [&](Sgd sgd) {
    return thrown<ArgumentError>([&] { Trainer(model, CrossEntropyLoss{}, sgd); });
  };
  CHECK(with({.lr = -1}) == "Sgd: lr must be finite and >= 0, got -1");
  CHECK(with({.momentum = -0.5}) == "Sgd: momentum must be finite and >= 0, got -0.5");
  CHECK(with({.weight_decay = -0.5}) == "Sgd: weight_decay must be finite and >= 0, got -0.5");
  CHECK(with({.lr = std::numeric_limits<double>::infinity()}) == "Sgd: lr must be finite and >= 0, got inf");
  CHECK(with({.dampening = std::numeric_limits<double>::quiet_NaN()}) ==
        "Sgd: dampening must be finite, got nan");
  CHECK(with({.nesterov = true}).find("nesterov needs momentum > 0") != std::string::npos);
  CHECK(with({.momentum = 0.9}) == "nothing was thrown");
}

// torch.optim.SGD makes its buffer in the first step that has momentum, and then it is that step's gradient.
TEST_CASE("momentum switched on later starts from the gradient, whatever the dampening") {
  using Small = Sequential<Linear<2, 2, Bias::off>>;
  const Tensor<float, Shape<1, 2>> x{1, 2};
  const std::vector<std::int32_t> label{1};
  Model<Small, Input<2>> a{Seed{1}}, b{Seed{1}};
  Trainer ta{a, CrossEntropyLoss{}, Sgd{.lr = 0.5}}, tb{b, CrossEntropyLoss{}, Sgd{.lr = 0.5}};
  const TensorView<const float, Shape<dyn, 2>> images(x.view());
  ta.step(images, label);
  tb.step(images, label);
  tb.optimizer() = Sgd{.lr = 0.5, .momentum = 0.9, .dampening = 0.5};
  ta.step(images, label);
  tb.step(images, label);
  CHECK(same_bits(a.parameter("0.weight"), b.parameter("0.weight")));
}
