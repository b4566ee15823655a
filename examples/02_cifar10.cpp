// The net of PyTorch's best-known CIFAR-10 tutorial, in one page, for the CPU or, by nvcc, for either.
//   g++ -std=c++20 -O3 -march=native -I include examples/02_cifar10.cpp -pthread -o cifar10
//   nvcc -std=c++20 -O3 -I include -x cu examples/02_cifar10.cpp -o cifar10
//   ./dev data cifar10 && ./cifar10 data/cifar10     or, on generated pictures: ./cifar10 --synthetic
#include <chrono>
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>
#include <span>
#include <string>

using namespace kern;
using namespace kern::nn;

// region net
using Net = Sequential<                          // (3, 32, 32)
    Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>,        // (32, 16, 16)
    Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,       // (32, 8, 8)
    Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>,       // (64, 4, 4)
    Flatten, Linear<1024, 64>, Linear<64, 10>>;  // 64 * 4 * 4
static_assert(param_count<Net, Input<3, 32, 32>> == 145'578);
// endregion

template <class Device, class Set>
void train(const Device& device, const Set& training, const Set& testing) {
  std::printf("training images: %zu\ntest images: %zu\n", training.size(), testing.size());
  auto train = data::make_loader(device, training, data::ToTensor{}, {.batch_size = 64, .shuffle = true});
  auto test = data::make_loader(device, testing, data::ToTensor{}, {.batch_size = 64});

  Model<Net, Input<3, 32, 32>, Device> model{Seed{0}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01}};
  const auto start = std::chrono::steady_clock::now();
  constexpr int epochs = 10;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::printf("epoch %d\n", epoch);
    for (const auto& batch : train) {
      const float loss = trainer.step(batch);
      if (trainer.steps() % 100 == 0) std::printf("step %d: loss %.4f\n", int(trainer.steps()), double(loss));
    }
    // region whole
    double loss = 0, right = 0;  // of the whole test set, a sum over its batches
    for (const auto& batch : test) {
      const Evaluation e = trainer.evaluate(std::span{&batch, 1});
      loss += e.loss, right += e.accuracy * double(e.count);
    }
    // endregion
    std::printf("test loss in total: %.3f\ntest accuracy: %.4f\n", loss, right / double(testing.size()));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%.1f s, %.0f images/s\n", time.count(), epochs * double(training.size()) / time.count());
}

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // who watches a file or a pipe sees each line at once
  const std::string from = argc > 1 ? argv[1] : "data/cifar10";
  const DeviceChoice device = choose_device("auto");  // or cpu, cuda, cuda:1
  std::printf("device: %s\n", device.text.c_str());
  on_device(device, [&](auto d) {
    if (from == "--synthetic") {
      std::puts("synthetic data: generated shapes, not CIFAR-10");
      train(d, data::SyntheticShapes{10'000}, data::SyntheticShapes{2'000, data::Split::test});
    } else {
      train(d, data::Cifar10{from}, data::Cifar10{from, data::Split::test});
    }
  });
} catch (const DataError& e) {
  std::fprintf(stderr,
               "%s\nget CIFAR-10 with ./dev data cifar10, or train on generated pictures: --synthetic\n",
               e.what());
  return 1;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
