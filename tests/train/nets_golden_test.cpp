// Whole nets trained step by step against PyTorch's.
#include "kern/nn/nn.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

/// Trains and compares gradients of the first step, the losses, and the parameters if these are PyTorch's
/// last.
template <class Net, class In, class T>
void check_training(const char* name, int batch, int classes, int steps, Sgd sgd, Seed seed = {},
                    const char* file = "nets.txt", std::uint64_t input_number = 1) {
  CAPTURE(name);
  const GoldenCase& c = golden(file, name);
  Model<Net, In, TestDevice, T> model{seed, test_device(2)};
  fill(model);
  Trainer trainer{model, CrossEntropyLoss{}, sgd};
  const auto x = formula_array<T>(input_number, std::size_t(batch) * std::size_t(model.plan().input.size()));
  std::vector<std::int32_t> labels(std::size_t(batch), 0);
  for (int i = 0; i < batch; ++i) labels[std::size_t(i)] = i * 7 % classes;
  std::vector<T> losses;
  for (int i = 0; i < steps; ++i) {
    losses.push_back(T(trainer.step(TensorView<const T, typename In::Batch>(x.data(), batch), labels)));
    if (i == 0) {
      int k = 0;
      for (const auto& p : model.parameter_names())
        check_as_accurate(c, "dp" + std::to_string(k++), model.gradient(p));
    }
  }
  std::vector<float> as_float(losses.begin(), losses.end());  // step() gives floats
  check_as_accurate({{"losses", first(golden_array(c, "losses"), losses.size())}}, "losses", as_float);
  if (losses.size() < c.at("losses").count) return;
  int k = 0;
  for (const auto& p : model.parameter_names())
    check_as_accurate(c, "p" + std::to_string(k++), model.parameter(p));
}

using LeNet = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Flatten,
                         Linear<4608, 128>, ReLU, Linear<128, 10>, LogSoftmax>;
using Cifar = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                         Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;
using Dropped = Sequential<Conv2d<2, 6, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>, Flatten, Linear<54, 20>,
                           ReLU, Dropout<0.5>, Linear<20, 4>>;

}  // namespace

#ifdef KERN_TEST_ON_CUDA
constexpr bool all_forms = false;  // a runtime that simulates GPUs is slow: smaller nets have them all
#else
constexpr bool all_forms = true;
#endif
#ifdef KERN_TEST_FLOAT_ONLY  // where a step takes seconds
constexpr bool long_enough = false;
#else
constexpr bool long_enough = true;
#endif

TEST_CASE("LeNet, 20 steps with momentum") {
  const Sgd sgd{.lr = 0.01, .momentum = 0.5};
  constexpr int steps = long_enough ? 20 : 6;
  check_training<LeNet, Input<1, 28, 28>, float>("lenet", 16, 10, steps, sgd);
  if constexpr (all_forms) {
    if constexpr (long_enough) check_training<LeNet, Input<1, 28, 28>, double>("lenet", 16, 10, steps, sgd);
    check_training<erase_shapes<LeNet>, Input<1, 28, 28>, float>("lenet", 16, 10, steps, sgd);
  }
}

// The input is one of which no pool's winner leads by less than the roundings (make_golden.py checks).
TEST_CASE("the CIFAR-10 net, 5 steps") {
  if constexpr (all_forms) {
    check_training<Cifar, Input<3, 32, 32>, float>("cifar", 8, 10, 5, Sgd{.lr = 0.01}, {}, "nets.txt", 38);
    if constexpr (long_enough)
      check_training<Cifar, Input<3, 32, 32>, double>("cifar", 8, 10, 5, Sgd{.lr = 0.01}, {}, "nets.txt", 38);
  }
}

TEST_CASE("dropout on: PyTorch with the same masks, computed apart") {
  check_training<Dropped, Input<2, 8, 8>, double>("dropped", 6, 4, 3, Sgd{.lr = 0.05}, Seed{77});
  check_training<Dropped, Input<2, 8, 8>, float>("dropped", 6, 4, 3, Sgd{.lr = 0.05}, Seed{77});
}

TEST_CASE("SGD's options, 50 steps each") {
  const std::pair<const char*, Sgd> all[] = {
      {"plain", {.lr = 0.1}},
      {"momentum", {.lr = 0.1, .momentum = 0.9}},
      {"dampening", {.lr = 0.1, .momentum = 0.9, .dampening = 0.3}},
      {"weight_decay", {.lr = 0.1, .weight_decay = 0.05}},
      {"momentum_weight_decay", {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.05}},
      {"nesterov", {.lr = 0.1, .momentum = 0.9, .nesterov = true}},
      {"nesterov_weight_decay", {.lr = 0.05, .momentum = 0.7, .weight_decay = 0.02, .nesterov = true}},
  };
  using Small = Sequential<Linear<6, 9>, ReLU, Linear<9, 3>>;
  for (const auto& [name, sgd] : all) {
    if constexpr (long_enough) check_training<Small, Input<6>, double>(name, 8, 3, 50, sgd, {}, "sgd.txt");
    check_training<Small, Input<6>, float>(name, 8, 3, 50, sgd, {}, "sgd.txt");
  }
}
