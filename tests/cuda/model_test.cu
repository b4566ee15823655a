// Whole models on a device, beside the host's.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// kern.hpp first: all others have it behind.
#include "kern/kern.hpp"

#include "kern/cuda/cuda.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using Image = Input<1, 12, 12>;
using Net = Sequential<Named<"conv1", Conv2d<1, 6, 3>>, ReLU, Named<"conv2", Conv2d<6, 10, 3, 1, 1>>, ReLU,
                       MaxPool2d<2>, Dropout2d<0.25>, Flatten, Named<"fc1", Linear<250, 20>>, ReLU,
                       Dropout<0.5>, Named<"fc2", Linear<20, 5>>, LogSoftmax>;
constexpr int batch_size = 9;

struct Data {
  Tensor<float, Shape<dyn, 1, 12, 12>> images =
      kern::randn<float, Shape<dyn, 1, 12, 12>>(Seed{3}, batch_size);
  std::vector<std::int32_t> labels = [] {
    std::vector<std::int32_t> l;
    for (int i = 0; i < batch_size; ++i) l.push_back(i * 7 % 5);
    return l;
  }();
};

template <class Model>
std::vector<float> parameters(const Model& model) {
  std::vector<float> all;
  for (const auto& name : Model::parameter_names()) {
    const auto v = model.parameter(name);
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}
/// Losses and parameters of some steps.
struct Run {
  std::vector<float> losses, parameters;
};
template <class N, class Device>
Run train(const Device& device, int steps, const Data& data, Seed seed = Seed{1}) {
  Model<N, Image, Device> model{seed, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  Run r;
  for (int i = 0; i < steps; ++i) r.losses.push_back(trainer.step(data.images, data.labels));
  r.parameters = parameters(model);
  return r;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
double farthest(const std::vector<float>& a, const std::vector<float>& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    most = std::max(most, std::abs(double(a[i]) - b[i]));
  return most;
}

}  // namespace

// The same masks and the same sums in another order: each of the 250 products of the longest is rounded once,
// 2^-24 of at most 1, and a few steps add up.
TEST_CASE("a device trains as the host, dropout on") {
  const Data data;
  const Run host = train<Net>(Host{1}, 5, data), device = train<Net>(Cuda{}, 5, data);
  CHECK(farthest(host.losses, device.losses) < 2e-5);
  CHECK(farthest(host.parameters, device.parameters) < 2e-5);
  CHECK(farthest(host.parameters, train<Net>(Host{1}, 4, data).parameters) >
        1e-3);  // that a step changes more
}

TEST_CASE("the same bits from run to run, and for erased sizes") {
  const Data data;
  const Run a = train<Net>(Cuda{}, 4, data), b = train<Net>(Cuda{}, 4, data),
            c = train<erase_shapes<Net>>(Cuda{}, 4, data);
  CHECK(same_bits(a.losses, b.losses));
  CHECK(same_bits(a.parameters, b.parameters));
  CHECK(same_bits(a.losses, c.losses));
  CHECK(same_bits(a.parameters, c.parameters));
}

TEST_CASE("trained on one device, a net goes on on the other") {
  const Data data;
  Model<Net, Image> host{Seed{1}, Host{1}};
  Model<Net, Image, Cuda> device{Seed{2}, Cuda{}};
  Trainer on_host{host, CrossEntropyLoss{}, Sgd{.lr = 0.05}};
  Trainer on_device{device, CrossEntropyLoss{}, Sgd{.lr = 0.05}};
  on_host.step(data.images, data.labels);
  for (const auto& name : host.parameter_names()) device.set_parameter(name, host.parameter(name));
  CHECK(same_bits(parameters(host), parameters(device)));
  on_device.step(data.images, data.labels);
  for (const auto& name : host.parameter_names()) host.set_parameter(name, device.parameter(name));
  CHECK(same_bits(parameters(host), parameters(device)));
  const auto a = host.predict(data.images), b = device.predict(data.images);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == doctest::Approx(b.data()[i]).epsilon(1e-5));
  CHECK(host.classify(data.images[2]) == device.classify(data.images[2]));
}

TEST_CASE("batches of other sizes, then a larger one; no memory after that") {
  Model<Net, Image, Cuda> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.5}};
  const auto step = [&](int n) {
    const auto x = kern::randn<float, Shape<dyn, 1, 12, 12>>(Seed{4}, n);
    const std::vector<std::int32_t> y(std::size_t(n), 1);
    CHECK(std::isfinite(trainer.step(x, y)));
    CHECK(std::isfinite(model.predict(x)(n - 1, 0)));
  };
  for (int n : {3, 1, 17}) step(n);
  std::size_t before = 0, after = 0, total = 0;
  gpu::check(cudaMemGetInfo(&before, &total), "cudaMemGetInfo");
  for (int n : {17, 2, 9, 17}) step(n);
  gpu::check(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
  CHECK(before == after);
}

TEST_CASE("two models on two streams, from two threads") {
  const Data data;
  const Run alone = train<Net>(Cuda{}, 3, data);
  Run a, b;
  std::thread other([&] {
    gpu::Stream stream;
    a = train<Net>(stream.where(), 3, data);
  });
  gpu::Stream stream;
  b = train<Net>(stream.where(), 3, data);
  other.join();
  CHECK(same_bits(a.parameters, alone.parameters));
  CHECK(same_bits(b.parameters, alone.parameters));
}

TEST_CASE("a loss that is not finite is refused, and nothing has changed") {
  Data data;
  Model<Net, Image, Cuda> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05}};
  trainer.step(data.images, data.labels);
  const auto before = parameters(model);
  const auto weights = model.parameter("fc1.weight");
  model.set_parameter("fc1.weight", std::vector<float>(weights.size(), std::numeric_limits<float>::max()));
  CHECK_THROWS_WITH_AS(
      trainer.step(data.images, data.labels),
      "step 2: the loss is nan; the first output that is not finite is that of layer 7 (fc1); a smaller "
      "learning rate may help",
      NumericError);
  model.set_parameter("fc1.weight", weights);
  data.images(3, 0, 5, 5) = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(trainer.step(data.images, data.labels),
                       "step 2: the loss is nan; sample 3 of the batch has a pixel that is not finite",
                       NumericError);
  CHECK(trainer.steps() == 1);
}

// A linear layer's sum is cut into parts by the number of samples: 576 in 28 parts, but 512 in 32.
TEST_CASE("a smaller batch after a larger one") {
  Model<Sequential<Linear<6144, 8>>, Input<6144>, Host> host{Seed{0}};
  Model<Sequential<Linear<6144, 8>>, Input<6144>, Cuda> model{Seed{0}};
  const auto x = rand<float, Shape<dyn, 6144>>(Seed{1}, 576);
  for (const int n : {576, 512}) {
    const TensorView<const float, Shape<dyn, 6144>> some(x.data(), n);
    const auto expected = host.predict(some), got = model.predict(some);
    float most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      most = std::max(most, std::abs(got.data()[i] - expected.data()[i]));
    CHECK(most < 1e-5);  // sums of 6144 products of at most 1 / 78: their roundings add up to some 1e-7
  }
}

TEST_CASE("a linear layer's sum in two parts") {
  Model<Sequential<Linear<384, 8>>, Input<384>, Host> host{Seed{0}};
  Model<Sequential<Linear<384, 8>>, Input<384>, Cuda> model{Seed{0}};
  const auto x = rand<float, Shape<dyn, 384>>(Seed{1}, 3);
  const auto expected = host.predict(x), got = model.predict(x);
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got.data()[i] == doctest::Approx(expected.data()[i]).epsilon(1e-5));
}

TEST_CASE("memory for the parts of a sum is enough for every smaller batch") {
  for (const stage::Dense d :
       {stage::Dense{384, 64, 64}, stage::Dense{4608, 128, 128}, stage::Dense{6144, 8, 8},
        stage::Dense{100, 10, 12}, stage::Dense{100'000, 1000, 1000}, stage::Dense{500, 70'000, 70'000}}) {
    std::size_t needed = 0, missing = 0;
    for (int n = 1; n < 20'000; ++n) {
      const int parts = gpu::parts_of_sum(d, n);
      if (parts > 1) needed = std::max(needed, std::size_t(parts) * std::size_t(n) * std::size_t(d.cols));
      missing += gpu::sums_of_parts(d, n) < needed;
    }
    CHECK(missing == 0);
  }
}
