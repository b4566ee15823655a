// A data set on a device: the batches of a DataLoader, to the bit.
#include "kern/data/device_loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kern/cuda/backend.hpp"
#include "kern/kern.hpp"
#if __has_include(<nlohmann/json.hpp>)  // not where only a GPU is tried
#include "kern/io/checkpoint.hpp"
#define KERN_HAS_CHECKPOINTS
#endif

using namespace kern;
using namespace kern::nn;

namespace {

/// Pictures of random bytes.
template <int Channels = 3>
struct Pictures {
  using Sample = Shape<Channels, 5, 4>;
  static constexpr std::size_t one = Channels * 20;
  std::vector<std::uint8_t> bytes;
  int wrong = -1;  // the record whose label is out of range
  explicit Pictures(std::size_t n, int wrong_record = -1) : bytes(n * one), wrong(wrong_record) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 2654435761u >> 13);
  }
  std::size_t size() const { return bytes.size() / one; }
  data::Record get(std::size_t i) const {
    return {{bytes.data() + i * one, one}, int(i) == wrong ? 4 : std::int32_t(i % 4)};
  }
  int classes() const { return 4; }
};
/// Floats, and the values that a net should make of them.
struct Signals {
  using Sample = Shape<3, 5, 4>;
  using Targets = Shape<2>;
  std::size_t count;
  Tensor<float, Shape<dyn, 60>> samples = kern::randn<float, Shape<dyn, 60>>(Seed{5}, int(count));
  Tensor<float, Shape<dyn, 2>> targets = kern::randn<float, Shape<dyn, 2>>(Seed{6}, int(count));
  std::size_t size() const { return count; }
  data::Record get(std::size_t i) const {
    return {{}, 0, {samples.data() + i * 60, 60}, {targets.data() + i * 2, 2}};
  }
};
// Two convolutions read the input, and nothing else.
using Branches = Sequential<Concat<Conv2d<3, 3, 3, 1, 1>, Conv2d<3, 2, 3, 1, 1>>, Flatten, Linear<100, 4>>;
const data::Compose transform{data::ToTensor{}, data::Normalize{{0.4f, 0.5f, 0.6f}, {0.2f, 0.3f, 0.1f}}};

using Net = Sequential<Conv2d<3, 4, 3>, ReLU, Flatten, Dropout<0.5>, Linear<24, 4>, LogSoftmax>;

}  // namespace

TEST_CASE("pictures, labels and order are the host's, epoch by epoch") {
  for (const bool shuffle : {false, true})
    for (const bool drop_last : {false, true}) {
      const data::DataLoaderOptions options{
          .batch_size = 4, .shuffle = shuffle, .drop_last = drop_last, .seed = Seed{7}};
      data::DataLoader host{Pictures(14), transform, options};
      auto device = data::make_loader(Cuda{}, Pictures(14), transform, options);
      CHECK(device.size() == host.size());
      for (int epoch = 0; epoch < 2; ++epoch) {
        auto there = device.begin();
        for (const auto& here : host) {
          REQUIRE(there != device.end());
          CHECK(std::vector(here.labels.begin(), here.labels.end()) ==
                std::vector(there->labels.begin(), there->labels.end()));
          const auto images = there->images.to(Host{});
          CHECK(images.extent(0) == here.images.extent(0));
          CHECK(std::equal(images.begin(), images.end(), here.images.data()));
          ++there;
        }
        CHECK(there == device.end());
      }
    }
}

TEST_CASE("an order is the host's") {
  for (const std::size_t n : {1u, 5u, 3000u}) {
    data::detail::DeviceShuffle<> device(n, Cuda{});
    std::vector<std::uint32_t> expected(n), got(n);
    std::vector<data::detail::OrderKey> room;
    for (const std::uint32_t epoch : {0u, 7u, 0xffffffffu}) {
      const Seed seed{0x123456789abcdefu + epoch};
      data::detail::shuffle(seed, data::detail::Shuffle::loader, epoch, expected, room);
      device.make(seed, data::detail::Shuffle::loader, epoch);
      gpu::copy_to_host(got.data(), device.order(), Cuda{}, n * sizeof got[0]);
      CHECK(got == expected);
    }
  }
}

TEST_CASE("samples that are no pictures") {
  const auto x = kern::rand<float, Shape<10, 6>>(Seed{1});
  Tensor<std::uint8_t, Shape<10, 6>> bytes;
  for (std::size_t i = 0; i < 60; ++i) bytes.data()[i] = std::uint8_t(37 * i);
  const std::vector<std::int32_t> labels{0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
  const auto check = [&](const auto& set, const auto& change) {
    const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = Seed{3}};
    data::DataLoader host{set, change, options};
    auto device = data::make_loader(Cuda{}, set, change, options);
    Model<Linear<6, 3>, Input<6>, Cuda> a{Seed{1}}, b{Seed{1}};
    Trainer on_a{a, CrossEntropyLoss{}, Sgd{.lr = 0.1}}, on_b{b, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
    auto there = device.begin();
    for (const auto& here : host) {
      const auto images = there->images.to(Host{});
      CHECK(std::equal(images.begin(), images.end(), here.images.data()));
      CHECK(on_a.step(here) == on_b.step(*there));
      ++there;
    }
    CHECK(there == device.end());
    CHECK(a.parameter("weight") == b.parameter("weight"));
  };
  const data::Normalize change{{1, 2, 3, 4, 5, 6}, {2, 2, 2, 2, 2, 3}};
  check(data::TensorDataset{x, labels}, change);
  check(data::TensorDataset{bytes, labels}, data::Compose{data::ToTensor{}, change});
}

// Four channels at once and one, with a border, a stride, and channels of zeros where branches share it; or
// stored before.
TEST_CASE_TEMPLATE("every first layer reads it, in batches of any size, as it reads floats", N, Branches,
                   Sequential<Conv2d<4, 5, 3, 1, 1>, ReLU, Flatten, Linear<100, 4>>,
                   erase_shapes<Sequential<Conv2d<4, 5, 3, 2, 1>, MaxPool2d<2>, Flatten, Linear<5, 4>>>,
                   Sequential<BatchNorm2d<4>, Flatten, Linear<80, 4>>) {
  constexpr int channels = std::is_same_v<N, Branches> ? 3 : 4;
  Model<N, Input<channels, 5, 4>, Cuda> a{Seed{1}}, b{Seed{1}};
  Trainer on_a{a, CrossEntropyLoss{}, Sgd{.lr = 0.1}}, on_b{b, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  const data::Compose change{data::ToTensor{}, data::Normalize{0.4f, 0.2f}};
  const auto train = [&](const data::DataLoaderOptions& options, std::size_t n) {
    data::DataLoader host{Pictures<channels>(n), change, options};
    auto device = data::make_loader(Cuda{}, Pictures<channels>(n), change, options);
    std::size_t batches = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto there = device.begin();
      for (const auto& here : host) {
        // Now and then samples of the host's, or a tensor, in between: what was recorded reads them as well.
        const bool mixed = ++batches % 3 == 0;
        const float loss = on_a.step(here);
        CHECK(loss == (mixed ? on_b.step(here) : on_b.step(*there)));
        if (mixed) {
          const auto tensor = there->images.to(Cuda{});
          struct {
            TensorView<const float, Shape<dyn, channels, 5, 4>, Cuda> images;
            std::span<const std::int32_t> labels;
          } batch{tensor, here.labels};
          on_a.step(here);
          on_b.step(batch);
        }
        ++there;
      }
      CHECK(there == device.end());
    }
    CHECK(on_a.evaluate(host).loss == on_b.evaluate(device).loss);
    return batches;
  };
  CHECK(train({.batch_size = 4, .shuffle = true, .seed = Seed{7}}, 10) == 6);  // the last of 2
  CHECK(train({.batch_size = 7}, 7) == 2);
  CHECK(train({.batch_size = 4, .shuffle = true, .drop_last = true}, 9) == 4);
  CHECK(train({.batch_size = 100}, 5) == 2);  // a set smaller than the batch
  for (const std::string& name : a.parameter_names()) CHECK(a.parameter(name) == b.parameter(name));
}

TEST_CASE("a set smaller than the batch, the last batch dropped: none is left") {
  auto loader = data::make_loader(Cuda{}, Pictures(3), transform, {.batch_size = 4, .drop_last = true});
  CHECK(loader.size() == 0);
  CHECK(loader.begin() == loader.end());
}

TEST_CASE("an epoch goes on where it was left, and nothing is allocated after the first") {
  const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = Seed{7}};
  data::DataLoader host{Pictures(14), transform, options};
  auto device = data::make_loader(Cuda{}, Pictures(14), transform, options);
  Model<Net, Input<3, 5, 4>, Cuda> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  std::size_t before = 0, after = 0, total = 0;
  for (const std::uint32_t epoch : {0u, 1u, 5u, 2u}) {
    gpu::check(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
    if (epoch < 5)
      before = after;  // the second time that a size is seen its step is recorded
    else
      CHECK(after == before);
    host.set_epoch(epoch, epoch % 3), device.set_epoch(epoch, epoch % 3);
    auto there = device.begin();
    std::size_t batches = 0;
    for (const auto& here : host) {
      CHECK(std::vector(here.labels.begin(), here.labels.end()) ==
            std::vector(there->labels.begin(), there->labels.end()));
      trainer.step(*there);
      ++batches, ++there;
    }
    CHECK(there == device.end());
    CHECK(batches == 4 - epoch % 3);
  }
  gpu::check(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
  CHECK(after == before);
}

TEST_CASE("a set of values: floats and targets") {
  using Regression = Sequential<Conv2d<3, 4, 3>, ReLU, Flatten, Linear<24, 2>>;
  const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = Seed{7}};
  const data::Normalize change{{0.4f, 0.5f, 0.6f}, {0.2f, 0.3f, 0.1f}};
  Model<Regression, Input<3, 5, 4>, Cuda> a{Seed{1}}, b{Seed{1}};
  Trainer on_a{a, MSELoss{}, Sgd{.lr = 0.1}}, on_b{b, MSELoss{}, Sgd{.lr = 0.1}};
  data::DataLoader host{Signals{10}, change, options};
  auto device = data::make_loader(Cuda{}, Signals{10}, change, options);
  for (int epoch = 0; epoch < 2; ++epoch) {
    auto there = device.begin();
    for (const auto& here : host) {
      CHECK(std::equal(here.labels.data(), here.labels.data() + here.labels.size(), there->labels.data()));
      CHECK(there->labels.extent(0) == here.labels.extent(0));
      const auto images = there->images.to(Host{});
      CHECK(std::equal(images.begin(), images.end(), here.images.data()));
      CHECK(on_a.step(here) == on_b.step(*there));
      ++there;
    }
  }
  CHECK(a.parameter("0.weight") == b.parameter("0.weight"));
  CHECK(on_a.evaluate(host).loss == on_b.evaluate(device).loss);
}

TEST_CASE("a model trains and is evaluated on it as on a DataLoader, to the bit") {
  const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = Seed{7}};
  const gpu::Stream other;
  for (const Cuda& where : {Cuda{}, other.where()}) {
    Model<Net, Input<3, 5, 4>, Cuda> a{Seed{1}}, b{Seed{1}};
    Trainer on_a{a, CrossEntropyLoss{}, Sgd{.lr = 0.1}}, on_b{b, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
    data::DataLoader host{Pictures(14), transform, options};
    auto device = data::make_loader(where, Pictures(14), transform, options);
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const auto& batch : host) on_a.step(batch);
      for (const auto& batch : device) on_b.step(batch);
    }
    CHECK(a.parameter("0.weight") == b.parameter("0.weight"));
    const Evaluation e = on_a.evaluate(host), f = on_b.evaluate(device);
    CHECK(e.loss == f.loss);
    CHECK(e.accuracy == f.accuracy);
    CHECK(f.count == 14);
  }
}

#ifdef KERN_HAS_CHECKPOINTS
TEST_CASE("a training goes on from its checkpoint, on the host's batches or the device's") {
  const char* const file = "device_loader_test.safetensors";
  using Norms = Sequential<Conv2d<3, 4, 3>, BatchNorm2d<4>, ReLU, Flatten, Dropout<0.5>, Linear<24, 4>>;
  const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = Seed{7}};
  // -> the parameters after 8 batches, `from` of which were trained on by the training that saved.
  const auto train = [&](auto& loader, int from, int to) {
    Model<Norms, Input<3, 5, 4>, Cuda> model{Seed{1}};
    Trainer trainer{model, CrossEntropyLoss{}, Adam{.lr = 0.1}};
    Ema ema{model, 0.5};
    io::Checkpoint checkpoint{file, trainer, loader, ema};
    if (from > 0) checkpoint.load();
    for (int seen = from; seen < to;)
      for (const auto& batch : loader) {
        trainer.step(batch);
        ema.update();
        if (++seen == to) break;
      }
    checkpoint.save();
    return data::detail::read_bytes(file);
  };
  const auto device = [&] { return data::make_loader(Cuda{}, Pictures(14), transform, options); };
  auto one = device(), two = device();
  data::DataLoader host{Pictures(14), transform, options};
  const auto whole = train(one, 0, 8);
  train(two, 0, 5);
  CHECK(train(host, 5, 8) == whole);

  Model<Norms, Input<3, 5, 4>> on_host{Seed{1}};
  Trainer trainer{on_host, CrossEntropyLoss{}, Adam{.lr = 0.1}};
  Ema ema{on_host, 0.5};
  io::Checkpoint checkpoint{file, trainer, host, ema};
  checkpoint.load();
  checkpoint.save();
  CHECK(data::detail::read_bytes(file) == whole);
  CHECK(trainer.steps() == 8);
  std::remove(file);
}
#endif

TEST_CASE("images on a device that are not finite are refused, and named") {
  Model<Net, Input<3, 5, 4>, Cuda> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  Tensor<float, Shape<dyn, 3, 5, 4>> images(3);
  images(2, 1, 0, 0) = std::nanf("");
  const auto there = images.to(Cuda{});
  struct {
    TensorView<const float, Shape<dyn, 3, 5, 4>, Cuda> images;
    std::vector<std::int32_t> labels;
  } batch{there, {0, 1, 2}};
  CHECK_THROWS_WITH_AS(trainer.step(batch),
                       "step 1: the loss is nan; sample 2 of the batch has a pixel that is not finite",
                       NumericError);
}

TEST_CASE("a label that the net has no output for is named") {
  Model<Sequential<Flatten, Linear<60, 3>>, Input<3, 5, 4>, Cuda> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  auto loader = data::make_loader(Cuda{}, Pictures(6), transform, {.batch_size = 5});
  const auto batch = loader.begin();
  CHECK_THROWS_WITH_AS(trainer.step(*batch), "label of sample 3 in the batch: expected 0 to 2, got 3",
                       DataError);
}

TEST_CASE("what is wrong is said when the data set goes to the device") {
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(6, 5), transform),
                       "label of record 5 of the data set: expected 0 to 3, got 4", DataError);
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(0), transform), "DataLoader: the data set is empty",
                       DataError);
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(1), transform, {.batch_size = 0}),
                       "DataLoader: batch_size must be at least 1, got 0", ArgumentError);
  CHECK_THROWS_AS(data::make_loader(Cuda{}, Pictures(1), data::Compose<>{}), ArgumentError);
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Signals{2}, data::ToTensor{}),
                       "ToTensor: the image is floats already: expected it first in a Compose",
                       ArgumentError);
  auto loader = data::make_loader(Cuda{}, Pictures(6), transform, {.batch_size = 2});
  auto first = loader.begin();
  [[maybe_unused]] const auto second = loader.begin();
  CHECK_THROWS_AS(++first, ArgumentError);
}
