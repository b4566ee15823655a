// Two nets in training, and what they make of samples: all kernels that these need, for what ptxas and a
// profiler say about them.
//   nets lenet|lenet-set|cifar10 train|evaluate|list BATCH TIMES
// lenet-set: the samples are bytes of a data set on the device. list: what explain has of a step, a line a
// launch: kernel, bytes read and written, grid, block, shared memory. Training begins with a step of one
// sample, for what only a first step does.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "../../bench/nets.hpp"
#include "kern/cuda/cuda.hpp"
#include "kern/kern.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using bench::Cifar10;
using bench::LeNet;

template <int C, int H, int W>
struct Samples {
  explicit Samples(int n) : images(randn<float, Shape<dyn, C, H, W>>(Seed{1}, n)) {
    for (int i = 0; i < n; ++i) labels.push_back(i % 10);
  }
  Tensor<float, Shape<dyn, C, H, W>> images;
  std::vector<std::int32_t> labels;
};

/// Pictures of bytes on the device, read in an order of their own: what a DeviceLoader's batch is.
template <int C, int H, int W>
struct Pictures {
  explicit Pictures(int n)
      : bytes(there<std::uint8_t>(n * C * H * W, [](int i) { return unsigned(i) * 2654435761u >> 13; })),
        order(there<std::uint32_t>(n, [n](int i) { return i * 5 % n; })),
        table(there<float>(C * 256, [](int i) { return float(i % 256) / 255; })),
        images({{bytes.data(), order.data(), table.data()}, Cuda{}}, n) {
    for (int i = 0; i < n; ++i) labels.push_back(i % 10);
  }
  /// f(i) for i < n.
  template <class E, class F>
  static gpu::Buffer<E> there(int n, F f) {
    std::vector<E> v;
    for (int i = 0; i < n; ++i) v.push_back(E(f(i)));
    gpu::Buffer<E> b(v.size(), Cuda{});
    gpu::copy_to_device(b.data(), Cuda{}, v.data(), v.size() * sizeof(E));
    return b;
  }
  gpu::Buffer<std::uint8_t> bytes;
  gpu::Buffer<std::uint32_t> order;
  gpu::Buffer<float> table;
  gpu::PickedSamples<float, Shape<dyn, C, H, W>> images;
  std::vector<std::int32_t> labels;
};

template <class Net, int C, int H, int W>
void run_on_set(int n, int times) {
  Model<Net, Input<C, H, W>, Cuda> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}};
  trainer.step(Pictures<C, H, W>(1));
  const Pictures<C, H, W> batch(n);
  for (int i = 0; i < times; ++i) std::printf("loss %.9g\n", double(trainer.step(batch)));
}

template <class Net, int C, int H, int W>
void run(bool train, int n, int times) {
  Model<Net, Input<C, H, W>, Cuda> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}};
  if (train) {
    const Samples<C, H, W> one(1);
    trainer.step(one.images, one.labels);
  }
  const Samples<C, H, W> batches[]{Samples<C, H, W>(n)};
  for (int i = 0; i < times; ++i) {
    if (train) {
      std::printf("loss %.9g\n", double(trainer.step(batches[0].images, batches[0].labels)));
    } else {
      const double score = double(model.predict(batches[0].images)(0, 0));
      std::printf("loss %.9g, first score %.9g\n", trainer.evaluate(batches).loss, score);
    }
  }
}

template <class Net, class In>
void print_launches(int n) {
  for (const auto& l : graph::Launches<Net, In, gpu::Backend<float>>::step(n)) {
    const auto& [b, t, shared] = l.work.grid;
    std::printf("%s %.0f %.0f %u,%u,%u %u,%u,%u %zu\n", l.work.kernel, l.work.read, l.work.written, b.x, b.y,
                b.z, t.x, t.y, t.z, shared);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  const bool given = argc == 5, train = given && arguments[2] == "train",
             list = given && arguments[2] == "list", set = train && arguments[1] == "lenet-set",
             lenet = given && arguments[1] == "lenet";
  const int n = given ? std::atoi(argv[3]) : 0, times = given ? std::atoi(argv[4]) : -1;
  if ((!lenet && !set && (!given || arguments[1] != "cifar10")) ||
      (!train && !list && arguments[2] != "evaluate") || n < 1 || times < 0) {
    std::fputs("usage: nets lenet|lenet-set|cifar10 train|evaluate|list BATCH TIMES\n", stderr);
    return 2;
  }
  if (set)
    run_on_set<LeNet, 1, 28, 28>(n, times);
  else if (list && lenet)
    print_launches<LeNet, Input<1, 28, 28>>(n);
  else if (list)
    print_launches<Cifar10, Input<3, 32, 32>>(n);
  else if (lenet)
    run<LeNet, 1, 28, 28>(train, n, times);
  else
    run<Cifar10, 3, 32, 32>(train, n, times);
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
