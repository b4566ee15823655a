// 02_cifar10.cpp with what the tutorial also does: curves for TensorBoard, and the net saved after each
// epoch. Needs protozero, libpng and nlohmann's JSON library (Debian: libprotozero-dev, libpng-dev,
// nlohmann-json3-dev).
//   libraries="-lpng -lz"
//   g++ -std=c++20 -O3 -march=native -I include examples/cifar10_tensorboard.cpp -pthread $libraries -o
//   cifar10 nvcc -std=c++20 -O3 -I include -x cu examples/cifar10_tensorboard.cpp $libraries -o cifar10
//   ./dev data cifar10 && ./cifar10 data/cifar10 && tensorboard --logdir runs
#include <chrono>
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/io/safetensors.hpp>
#include <kern/io/tensorboard.hpp>
#include <kern/kern.hpp>
#include <span>
#include <string>

using namespace kern;
using namespace kern::nn;

// region net
using Net = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                       Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;
// endregion

template <class Device>
void train(const Device& device, const std::string& folder) {
  // region data
  auto train =
      data::make_loader(device, data::Cifar10{folder}, data::ToTensor{}, {.batch_size = 64, .shuffle = true});
  auto test = data::make_loader(device, data::Cifar10{folder, data::Split::test}, data::ToTensor{},
                                {.batch_size = 64});
  std::printf("training images: %zu\ntest images: %zu\n", train.dataset().size(), test.dataset().size());
  // endregion

  // region model
  Model<Net, Input<3, 32, 32>, Device> model{Seed{0}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01}};
  io::SummaryWriter writer{"runs/cifar10"};
  // endregion
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= 10; ++epoch) {
    std::printf("epoch %d\n", epoch);
    // region steps
    for (const auto& batch : train) {
      const double loss = double(trainer.step(batch));
      if (trainer.steps() % 100 != 0) continue;
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      std::printf("%.1f s, step %d: loss %.4f\n", time.count(), int(trainer.steps()), loss);
      writer.add_scalar("train_loss", loss, trainer.steps());
    }
    // endregion
    // region test
    double loss = 0, right = 0;  // of the whole test set, a sum over its batches
    for (const auto& batch : test) {
      const Evaluation e = trainer.evaluate(std::span{&batch, 1});
      loss += e.loss, right += e.accuracy * double(e.count);
    }
    const double accuracy = right / double(test.dataset().size());
    std::printf("test loss in total: %.3f\ntest accuracy: %.4f\n", loss, accuracy);
    writer.add_scalar("test_loss", loss, epoch);
    writer.add_scalar("test_accuracy", accuracy, epoch);
    io::save_model(model, text("runs/cifar10/net_", epoch, ".safetensors"));
    // endregion
  }
}

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // who watches a file or a pipe sees each line at once
  // region device
  const DeviceChoice device = choose_device("auto");  // or cpu, cuda, cuda:1
  std::printf("device: %s\n", device.text.c_str());
  on_device(device, [&](auto d) { train(d, argc > 1 ? argv[1] : "data/cifar10"); });
  // endregion
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
