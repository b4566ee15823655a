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

/// Pictures of random bytes, of three channels.
struct Pictures {
  using Sample = Shape<3, 5, 4>;
  std::vector<std::uint8_t> bytes;
  int wrong = -1;  // the record whose label is out of range
  explicit Pictures(std::size_t n, int wrong_record = -1) : bytes(n * 60), wrong(wrong_record) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 2654435761u >> 13);
  }
  std::size_t size() const { return bytes.size() / 60; }
  data::Record get(std::size_t i) const {
    return {{bytes.data() + i * 60, 60}, int(i) == wrong ? 4 : std::int32_t(i % 4)};
  }
  int classes() const { return 4; }
};
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

TEST_CASE("what is wrong is said when the data set goes to the device") {
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(6, 5), transform),
                       "label of record 5 of the data set: expected 0 to 3, got 4", DataError);
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(0), transform), "DataLoader: the data set is empty",
                       DataError);
  CHECK_THROWS_WITH_AS(data::make_loader(Cuda{}, Pictures(1), transform, {.batch_size = 0}),
                       "DataLoader: batch_size must be at least 1, got 0", ArgumentError);
  CHECK_THROWS_AS(data::make_loader(Cuda{}, Pictures(1), data::Compose<>{}), ArgumentError);
  auto loader = data::make_loader(Cuda{}, Pictures(6), transform, {.batch_size = 2});
  auto first = loader.begin();
  [[maybe_unused]] const auto second = loader.begin();
  CHECK_THROWS_AS(++first, ArgumentError);
}
