// A net that learns on a GPU.
//   nvcc -std=c++20 -O3 -I include examples/snippets/cuda_net.cu -o net && ./net
#include <array>
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

struct Stripes {  // 16 x 16, across or along
  using Sample = Shape<1, 16, 16>;
  static std::size_t size() { return 512; }
  static int classes() { return 2; }
  data::Record get(std::size_t i) const {
    for (std::size_t p = 0; p < pixels.size(); ++p)
      pixels[p] = (i % 2 ? p % 16 : p / 16) / (1 + i / 2 % 3) % 2 ? 255 : 0;
    return {pixels, int(i % 2)};
  }
  mutable std::array<std::uint8_t, 256> pixels{};
};

int main() try {
  data::DataLoader loader{Stripes{}, data::ToTensor{}, {.batch_size = 32, .shuffle = true}};
  // region train
  using Net = Sequential<Conv2d<1, 4, 3>, ReLU, MaxPool2d<2>, Flatten, Linear<196, 2>>;
  Model<Net, Input<1, 16, 16>, Cuda> model{Seed{0}, Cuda{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& batch : loader) trainer.step(batch);
  std::printf("accuracy %.2f\n", trainer.evaluate(loader).accuracy);
  // endregion
} catch (const Error& e) {
  std::printf("%s\n", e.what());
  return 1;
}
