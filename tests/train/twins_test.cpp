// The host beside the device of the typed tests (on the host: other threads), and devices with a flaw each.
#include "kern/train/twins.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

using Image = Input<1, 12, 12>;
// The branches want different borders: a stage in between is a copy, which belongs to no layer.
using Branches = Add<Named<"conv2", Conv2d<6, 10, 3>>, Named<"side", Conv2d<6, 10, 5, 1, 1>>>;
using Net = Sequential<Named<"conv1", Conv2d<1, 6, 3, 1, 1>>, ReLU, Named<"", Branches>, ReLU, MaxPool2d<2>,
                       Dropout2d<0.25>, Flatten, Named<"fc1", Linear<250, 20>>, ReLU, Dropout<0.5>,
                       Named<"fc2", Linear<20, 5>>, LogSoftmax>;

struct Batch {
  Batch() {
    for (int i = 0; i < 9; ++i) labels.push_back(i * 7 % 5);
  }
  Tensor<float, Shape<dyn, 1, 12, 12>> images = kern::randn<float, Shape<dyn, 1, 12, 12>>(Seed{3}, 9);
  std::vector<std::int32_t> labels;
};

enum class Flaw { none, forward, backward, update };
Flaw flaw = Flaw::none;

/// Does one thing wrong: to fc1's outputs, to a gradient of fc1's, to a parameter.
template <class T>
struct FaultyBackend : TestDevice::Backend<T> {
  using Base = TestDevice::Backend<T>;
  using Base::Base;
  void shift(T* p, std::size_t at) {
    this->edit(p + at, 1, [](T* element) { *element += T(0.5); });
  }
  /// Not recorded: a flaw is made by the host.
  template <class Recordings, class F, class G>
  double step(Recordings&, int, F&& forward, G&& backward) {
    const double loss = forward();
    backward();
    return loss;
  }
  template <class D>
  static bool is_fc1(D d) {
    if constexpr (std::is_same_v<typename D::type, stage::Dense>) return d.get().co == 20;
    return false;
  }
  template <class D, class X, class Chain>
  void forward(stage::Slice s, D d, const stage::ForwardPass<T, X>& p, const Chain& chain, ops::Draw draw) {
    Base::forward(s, d, p, chain, draw);
    if (flaw == Flaw::forward && is_fc1(d) && draw.train) shift(p.y, std::size_t(2 * d.get().out_size() + 3));
  }
  template <bool DataGradient, class D, class X, class Chain, class Under>
  void backward(stage::Slice s, D d, const stage::BackwardPass<T, X>& p, const Chain& chain,
                const Under& below, ops::Draw draw) {
    Base::template backward<DataGradient>(s, d, p, chain, below, draw);
    if (flaw == Flaw::backward && is_fc1(d)) shift(p.db, 7);
  }
  template <class Op, class... State>
  void update(int number, std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    Base::update(number, n, op, w, g, states...);
    if (flaw == Flaw::update) shift(w, 0);
  }
};
struct FaultyDevice : TestDevice {
  FaultyDevice() : TestDevice(test_device(2)) {}
  template <class T>
  using Backend = FaultyBackend<T>;
};

template <class A, class B>
std::string apart(A& host, B& device, const std::vector<Batch>& loader) {
  // region twins
  Twins twins{host, device, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (const auto& batch : loader)
    if (const auto d = twins.step(batch)) return d->text();
  // endregion
  return "";
}

const Sgd sgd{.lr = 0.05, .momentum = 0.9};
using Twin = Model<Net, Image, FaultyDevice>;

}  // namespace

TEST_CASE("the host and a device agree, step by step; an erased net, too") {
  const std::vector<Batch> loader(5);
  Model<Net, Image> host{Seed{1}, Host{1}};
  Model<Net, Image, TestDevice> device{Seed{1}, test_device(2)};
  Model<erase_shapes<Net>, Image, TestDevice> erased{Seed{1}, test_device(2)};
  CHECK(apart(host, device, loader) == "");
  Model<Net, Image> other{Seed{1}, Host{1}};
  CHECK(host.parameter("fc2.bias") != other.parameter("fc2.bias"));  // they did train
  CHECK(apart(other, erased, loader) == "");
}

TEST_CASE("the second begins with the first's parameters; their seeds must be the same") {
  Model<Net, Image> a{Seed{1}, Host{1}};
  Twin b{Seed{1}}, c{Seed{2}};
  a.set_parameter("fc2.bias", {1, 2, 3, 4, 5});
  const Twins twins{a, b, CrossEntropyLoss{}, sgd};
  CHECK(b.parameter("fc2.bias") == std::vector<float>{1, 2, 3, 4, 5});
  CHECK_THROWS_WITH_AS((Twins{a, c, CrossEntropyLoss{}, sgd}), "twins have one seed: expected 1, got 2",
                       ArgumentError);
}

TEST_CASE("a perturbed parameter is found and named") {
  const Batch batch;
  Model<Net, Image> a{Seed{1}, Host{1}};
  Twin b{Seed{1}};
  Twins twins{a, b, CrossEntropyLoss{}, sgd};
  CHECK(!twins.step(batch));
  auto weight = b.parameter("conv2.weight");  // (10, 6, 3, 3)
  const float before = weight[3 * 54 + 4 * 9 + 2 * 3 + 1];
  weight[3 * 54 + 4 * 9 + 2 * 3 + 1] += 0.25f;
  b.set_parameter("conv2.weight", weight);
  const auto d = twins.step(batch);
  REQUIRE(d);
  CHECK(d->step == 2);
  CHECK(d->what == "conv2.weight");
  CHECK(d->index == std::vector<int>{3, 4, 2, 1});
  CHECK(d->first == doctest::Approx(before).epsilon(1e-4));
  CHECK(d->second == doctest::Approx(before + 0.25).epsilon(1e-4));
}

TEST_CASE("a backend's flaw is found where it is made") {
  const Batch batch;
  Model<Net, Image> a{Seed{1}, Host{1}};
  Twin b{Seed{1}};
  Twins twins{a, b, CrossEntropyLoss{}, sgd};
  CHECK(!twins.step(batch));
  const auto finds = [&](Flaw f, const char* what, const std::vector<int>& index) {
    flaw = f;
    const auto d = twins.step(batch);
    flaw = Flaw::none;
    REQUIRE(d);
    CHECK(d->step == 2);
    CHECK(d->what == what);
    CHECK(d->index == index);
    CHECK(d->second - d->first == doctest::Approx(0.5).epsilon(1e-3));
  };
  SUBCASE("forward") { finds(Flaw::forward, "output of layers 9 (fc1) to 11", {2, 3}); }
  SUBCASE("backward") { finds(Flaw::backward, "gradient of fc1.bias", {7}); }
  SUBCASE("update") { finds(Flaw::update, "conv1.weight", {0, 0, 0, 0}); }
}

TEST_CASE("within the tolerance they agree; NaN agrees with NaN alone") {
  const Batch batch;
  Model<Net, Image> a{Seed{1}, Host{1}};
  Twin b{Seed{1}};
  Twins twins{a, b, CrossEntropyLoss{}, sgd, 0.02};
  b.set_parameter("fc2.bias", {0, 0, 0, 0, 1});
  a.set_parameter("fc2.bias", {0, 0, 0, 0.01f, 1});
  CHECK(!twins.step(batch));
  b.set_parameter("fc2.bias", {0, 0, 0, 0, 1});
  a.set_parameter("fc2.bias", {0, 0, 0, 0, std::nanf("")});
  const auto d = twins.step(batch);
  REQUIRE(d);
  CHECK(d->text() == "step 2: fc2.bias, element (4): nan and 1, expected within 0.02");
}

TEST_CASE("where they part, in words") {
  CHECK(Divergence{3, "loss", {}, 0.1, 2, 1e-5}.text() == "step 3: loss: 0.1 and 2, expected within 1e-05");
}
