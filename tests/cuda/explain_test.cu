// What explain says of a device, against what is launched there.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../../bench/nets.hpp"
#include "kern/cuda/cuda.hpp"
#include "kern/kern.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using bench::LeNet;
using Digit = Input<1, 28, 28>;
// Padding, a stride, groups, a pool of its own, branches, layer normalisations, a log-softmax in a branch,
// ops at the end.
using Odd = Sequential<Conv2d<3, 6, 3, 2, 1>, ReLU, MaxPool2d<3, 2>, Conv2d<6, 6, 3, 1, 1, Groups{3}>,
                       Concat<Conv2d<6, 5, 3, 1, 1>, Identity>, Dropout<0.5>,
                       LayerNorm<11, 3, 3, Affine::off>, Flatten, Linear<99, 200, Bias::off>,
                       Residual<LogSoftmax>, LayerNorm<200>, Linear<200, 7>, ReLU>;
using Small = Input<3, 15, 15>;
using Words = Sequential<Embedding<50, 6>, GlobalAvgPool2d, Flatten, Linear<6, 2>>;

/// Every launch of this thread.
struct Seen : gpu::LaunchObserver {
  void launched(const Launched& l) override { all.push_back(gpu::launch_text(l.kernel, l.grid)); }
  std::vector<std::string> all;
};

/// Those of a first step on n samples.
template <class N, class In>
std::vector<std::string> launched(int n) {
  Model<N, In, Cuda> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}};
  auto x = kern::randn<float, typename In::Batch>(Seed{2}, n);
  for (std::size_t i = 0; i < x.size() && In::rank == 1; ++i) x.data()[i] = float(i % 50);  // indices
  const std::vector<std::int32_t> labels(std::size_t(n), 1);
  Seen seen;
  trainer.step(x, labels);
  return seen.all;
}
/// The same from a data set on the device.
template <class N, class In>
std::vector<std::string> launched_from_set(int n) {
  struct Set {
    using Sample = typename In::Sample;
    std::size_t count;
    std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(std::size_t(In::dims.size()), 7);
    std::size_t size() const { return count; }
    int classes() const { return 2; }
    data::Record get(std::size_t i) const { return {pixels, int(i % 2)}; }
  };
  Model<N, In, Cuda> model{Seed{1}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}};
  auto loader =
      data::make_loader(Cuda{}, Set{std::size_t(n)}, data::ToTensor{}, {.batch_size = n, .shuffle = true});
  const auto batch = loader.begin();
  Seen seen;
  trainer.step(*batch);
  return seen.all;
}
template <class Net, class In>
std::vector<std::string> listed(int n) {
  std::vector<std::string> all;
  for (const auto& l : graph::Launches<Net, In, gpu::Backend<float>>::step(n))
    all.push_back(to_string(l.work));
  return all;
}

}  // namespace

TEST_CASE("a step launches what is listed, in that order, and explain says so") {
  const auto all = launched<LeNet, Digit>(64);
  CHECK(all == listed<LeNet, Digit>(64));
  CHECK(all != listed<LeNet, Digit>(65));
  CHECK(launched<Odd, Small>(5) == listed<Odd, Small>(5));
  CHECK(launched<erase_shapes<Odd>, Small>(130) == listed<Odd, Small>(130));
  CHECK(launched_from_set<LeNet, Digit>(64) == all);  // bytes need no launch of their own
  CHECK(all.size() <= 12);
  CHECK(launched<Words, Input<9>>(5) == listed<Words, Input<9>>(5));

  const std::string e = explain<LeNet, Digit, Cuda>(64);
  CHECK(all.size() > 10);
  for (const std::string& line : all) {
    INFO(line);
    CHECK(e.find(": " + line + "\n") != std::string::npos);
  }
  CHECK(e.find("stage 1: convolution and pooling  (16, 26, 26) -> (4608)") != std::string::npos);
  CHECK(e.find("ends here: the next layer sums over the whole sample") != std::string::npos);
  CHECK(e.find("reads the samples as they come: floats, or a data set's bytes\n") != std::string::npos);
  CHECK(e.find("a step: " + std::to_string(all.size()) + " launches, ") != std::string::npos);
}

TEST_CASE("a first layer that does not read bytes has them stored") {
  using Mlp = Sequential<Flatten, Linear<784, 10>>;
  auto more = listed<Mlp, Digit>(64);
  const auto all = launched_from_set<Mlp, Digit>(64);
  REQUIRE(all.size() == more.size() + 1);
  CHECK(all[0] ==
        "store_input with a grid of (196, 1, 1) blocks of (256, 1, 1) threads and 0 bytes of shared memory");
  CHECK(std::vector(all.begin() + 1, all.end()) == more);
  CHECK(explain<Mlp, Digit, Cuda>(64).find("from a data set on the device in a launch more\n") !=
        std::string::npos);
}

// By hand: 64 samples, 4 bytes a number.
TEST_CASE("bytes once, and FLOPs by the plain definition") {
  const auto all = graph::Launches<LeNet, Digit, gpu::Backend<float>>::step(64);
  const auto& conv1 = all.at(0);
  CHECK(conv1.work.read == 64 * 784 * 4 + (9 * 16 + 16) * 4);
  CHECK(conv1.work.written == 64 * 26 * 26 * 16 * 4);
  CHECK(conv1.flops == 2. * 64 * 26 * 26 * 16 * 9);
  const auto& conv2 = all.at(1);  // pooled, with an index of 2 bytes beside each output
  CHECK(conv2.work.written == 64 * 12 * 12 * 32 * (4 + 2));
  double flops = 0;  // forward, to the weights, and, but for the first, to the input
  for (const auto& l : all) flops += l.flops;
  const double forward = 2. * (26 * 26 * 16 * 9 + 24 * 24 * 32 * 144 + 4608 * 128 + 128 * 10);
  CHECK(flops == 3 * 64 * forward - conv1.flops);
  const auto& update = all.back();  // 596,042 parameters, fc2's ten columns stored as twelve
  CHECK(update.work.read == 3. * 4 * (596042 + 2 * 129));
}
