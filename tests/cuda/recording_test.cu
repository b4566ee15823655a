// Work recorded once and played many times, and training steps made of it.
#include "kern/cuda/recording.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "kern/cuda/backend.hpp"
#include "kern/cuda/copy.hpp"
#include "kern/kern.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using Net = Sequential<Named<"conv", Conv2d<2, 4, 3>>, ReLU, MaxPool2d<2>, Flatten, Dropout<0.5>,
                       Named<"fc", Linear<36, 3>>, LogSoftmax>;
using In = Input<2, 8, 8>;

template <class Device>
struct Training {
  explicit Training(const Device& device = {}) : model(Seed{5}, device) {}
  Model<Net, In, Device> model;
  Trainer<Model<Net, In, Device>, CrossEntropyLoss<>, Sgd> trainer{model, CrossEntropyLoss{},
                                                                   Sgd{.lr = 0.1, .momentum = 0.9}};
  float step(int n, int number) {
    const auto x = kern::randn<float, Shape<dyn, 2, 8, 8>>(Seed{std::uint64_t(number)}, n);
    std::vector<std::int32_t> labels;
    for (int i = 0; i < n; ++i) labels.push_back((i + number) % 3);
    return trainer.step(x, labels);
  }
  std::vector<float> weight() { return model.parameter("fc.weight"); }
};

}  // namespace

TEST_CASE("what is recorded is done when it is played, each time") {
  const gpu::Stream stream;
  gpu::Buffer<int> from(1, stream.where()), to(1, stream.where());
  const auto value = [&] {
    int v = -1;
    gpu::copy_to_host(&v, to.data(), stream.where(), sizeof v);
    return v;
  };
  const gpu::Recording copy(stream.where(), [&] {
    gpu::copy_on_device(to.data(), stream.where(), from.data(), stream.where(), sizeof(int));
  });
  for (int i = 1; i < 4; ++i) {
    gpu::fill(from.data(), 1, i, stream.where());
    CHECK(value() == i - 1);
    copy.play(stream.where());
    CHECK(value() == i);
  }
}

TEST_CASE("an exception ends the recording, and the stream goes on") {
  const gpu::Stream stream;
  CHECK_THROWS_AS(gpu::Recording(stream.where(), [] { throw std::runtime_error("stop"); }),
                  std::runtime_error);
  gpu::Buffer<int> b(3, stream.where());
  gpu::fill(b.data(), 3, 7, stream.where());
  int last = 0;
  gpu::copy_to_host(&last, b.data() + 2, stream.where(), sizeof last);
  CHECK(last == 7);
}

TEST_CASE("recorded steps have the bits of steps that are not") {
  Training<Cuda> recorded, not_recorded;
  for (int i = 0; i < 6; ++i) {
    const int n = i == 3 ? 2 : 5;  // a last batch that is not full
    const float a = recorded.step(n, i);
    not_recorded.model.executor().backend().template allocate<float>(1);  // recordings are dropped
    CHECK(a == not_recorded.step(n, i));
  }
  CHECK(recorded.weight() == not_recorded.weight());
}

// The numbers of the last step, and of the first, have a place in every recorded one: the host shows them.
TEST_CASE("a recorded step takes another learning rate, momentum, step number") {
  Training<Cuda> device;
  Training<Host> host(Host{1});
  for (int i = 0; i < 8; ++i) {
    if (i == 4) device.trainer.optimizer().lr = host.trainer.optimizer().lr = 0.01;
    if (i == 6) device.trainer.optimizer().momentum = host.trainer.optimizer().momentum = 0;
    if (i == 7) device.trainer.optimizer().momentum = host.trainer.optimizer().momentum = 0.5;
    CHECK(device.step(4, i) == doctest::Approx(host.step(4, i)).epsilon(1e-5));
    const auto a = device.weight(), b = host.weight();
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(std::abs(a[k] - b[k]) < 1e-5f);
  }
}

TEST_CASE("a recorded step whose loss is not finite changes nothing, and the next one goes on") {
  Training<Cuda> with, without;
  for (int i = 0; i < 3; ++i) CHECK(with.step(4, i) == without.step(4, i));
  auto bad = kern::randn<float, Shape<dyn, 2, 8, 8>>(Seed{9}, 4);
  bad(1, 0, 0, 0) = std::nanf("");
  const std::vector<std::int32_t> labels(4, 0);
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH_AS(with.trainer.step(bad, labels),
                         "step 4: the loss is nan; sample 1 of the batch has a pixel that is not finite",
                         NumericError);
  CHECK(with.weight() == without.weight());
  CHECK(with.step(4, 3) == without.step(4, 3));
  CHECK(with.weight() == without.weight());
}
