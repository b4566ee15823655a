// LeNet on MNIST: the net is a type, checked and fused by the compiler, for the CPU or, by nvcc, for either.
//   g++ -std=c++20 -O3 -march=native -I include examples/01_lenet_mnist.cpp -pthread -o lenet
//   nvcc -std=c++20 -O3 -I include -x cu examples/01_lenet_mnist.cpp -o lenet
//   ./lenet examples/data
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>
#include <string>

using namespace kern;
using namespace kern::nn;

// region net
using LeNet = Sequential<                     // (1, 28, 28)
    Named<"conv1", Conv2d<1, 16, 3>>, ReLU,   // (16, 26, 26)
    Named<"conv2", Conv2d<16, 32, 3>>, ReLU,  // (32, 24, 24)
    MaxPool2d<2>, Dropout2d<0.25>, Flatten,   // 32 * 12 * 12
    Named<"fc1", Linear<4608, 128>>, ReLU, Dropout<0.5>, Named<"fc2", Linear<128, 10>>, LogSoftmax>;
static_assert(param_count<LeNet, Input<1, 28, 28>> == 596'042);
// endregion

template <class Device>
void train(const Device& device, const std::string& folder) {
  const data::Compose transform{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}};
  auto train = data::make_loader(device, data::Mnist{folder, data::Split::train}, transform,
                                 {.batch_size = 64, .shuffle = true});
  auto test =
      data::make_loader(device, data::Mnist{folder, data::Split::test}, transform, {.batch_size = 1000});

  Model<LeNet, Input<1, 28, 28>, Device> model{Seed{0}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.5}};
  for (int epoch = 1; epoch <= 10; ++epoch) {
    double loss = 0;
    for (const auto& batch : train) loss += trainer.step(batch);
    const Evaluation result = trainer.evaluate(test);
    std::printf("epoch %2d  train loss %.4f  test loss %.4f  test accuracy %.4f\n", epoch,
                loss / double(train.size()), result.loss, result.accuracy);
  }
}

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);      // who watches a file or a pipe sees each line at once
  const DeviceChoice device = choose_device("auto");  // or cpu, cuda, cuda:1
  std::printf("device: %s\n", device.text.c_str());
  on_device(device, [&](auto d) { train(d, argc > 1 ? argv[1] : "examples/data"); });
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
