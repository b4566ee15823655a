// `./dev train cifar10`: the net of PyTorch's best-known tutorial on CIFAR-10, or on generated pictures.
#include "train.hpp"
#include "trainers.hpp"

using namespace kern::nn;

using CifarNet = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                            Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;

void train_cifar10(const Options& o) {
  using namespace kern;
  using Sample = data::Cifar10::Sample;
  const auto data = [&]() -> Data<Sample> {
    using enum data::Split;
    if (o.synthetic)
      return {"cifar10-synthetic", "  (synthetic pictures, not CIFAR-10)",
              Pictures<Sample>(data::SyntheticShapes{10'000, train, Seed{o.seed}}, o.limit),
              Pictures<Sample>(data::SyntheticShapes{2'000, test, Seed{o.seed}}, o.limit)};
    try {
      return {"cifar10", "", Pictures<Sample>(data::Cifar10{o.data, train}, o.limit),
              Pictures<Sample>(data::Cifar10{o.data, test}, o.limit)};
    } catch (const DataError& e) {
      throw DataError(text(e.what(), "\nget CIFAR-10 with ./dev data cifar10 --to ", o.data,
                           ", or train on generated pictures: --synthetic"));
    }
  }();
  train<CifarNet, Input<3, 32, 32>>(o, data, data::ToTensor{});
}
