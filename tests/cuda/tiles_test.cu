// Convolutions of sizes that tiles don't divide, beside the host's: in double, where both round alike to some
// 1e-14.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kern/cuda/backend.hpp"
#include "kern/kern.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

/// A step of n samples: the loss and all gradients agree within 1e-12 of the largest magnitude. A sum has at
/// most some thousand products, each rounded by 2^-53.
template <class Net, class In>
void check(const char* name, int n = 3) {
  CAPTURE(name);
  Model<Net, In, Host, double> host{Seed{4}, Host{1}};
  Model<Net, In, Cuda, double> device{Seed{4}};
  Trainer on_host{host, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  Trainer on_device{device, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  const auto x = kern::randn<double, typename In::Batch>(Seed{5}, n);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < n; ++i) labels.push_back(i % 2);
  CHECK(on_device.step(x, labels) == doctest::Approx(on_host.step(x, labels)).epsilon(1e-7));  // floats
  for (const std::string& p : host.parameter_names()) {
    CAPTURE(p);
    const auto a = host.gradient(p), b = device.gradient(p);
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    CHECK(largest > 0);
    CHECK(apart <= 1e-12 * largest);
  }
}

}  // namespace

TEST_CASE("channels that are no whole tile: one, few, odd, more than one") {
  check<Sequential<Conv2d<1, 5, 3>, ReLU, Conv2d<5, 13, 3>, ReLU, Flatten, Linear<13 * 36, 2>>,
        Input<1, 10, 10>>("1, 5, 13");
  check<Sequential<Conv2d<7, 20, 3, 1, 1>, ReLU, Conv2d<20, 36, 3, 1, 1>, ReLU, Conv2d<36, 72, 3>,
                   MaxPool2d<2>, Flatten, Linear<72 * 4, 2>>,
        Input<7, 6, 6>>("7, 20, 36, 72");
  check<Sequential<Conv2d<40, 132, 1>, Conv2d<132, 4, 1>, Flatten, Linear<4 * 9, 2>>, Input<40, 3, 3>>(
      "40, 132, 4");
  check<Sequential<Conv2d<37, 8, 3>, Flatten, Linear<8 * 4, 2>>, Input<37, 4, 4>>("37: no fours, two depths");
}

TEST_CASE("pictures wider and higher than a tile") {
  check<Sequential<Conv2d<1, 8, 3, 1, 1>, ReLU, MaxPool2d<2>, Conv2d<8, 8, 3>, ReLU, Conv2d<8, 4, 3, 1, 1>,
                   Flatten, Linear<4 * 2 * 998, 2>>,
        Input<1, 8, 2000>>("8 x 2000", 2);
  check<Sequential<Conv2d<2, 4, 3>, MaxPool2d<3>, Conv2d<4, 12, 5, 1, 2>, Flatten, Linear<12 * 99, 2>>,
        Input<2, 300, 5>>("300 x 5", 2);
}

TEST_CASE("kernels as wide as their picture, and wider than a tile's share of channels") {
  check<Sequential<Conv2d<4, 64, Size2{1, 90}>, ReLU, Conv2d<64, 6, Size2{2, 11}>, Flatten, Linear<6, 2>>,
        Input<4, 2, 100>>("1 x 90, 2 x 11");
  check<Sequential<Conv2d<3, 8, 12>, Flatten, Linear<8, 2>>, Input<3, 12, 12>>("12 x 12");
}

TEST_CASE("strides, and pools of other shapes") {
  check<Sequential<Conv2d<3, 8, 3, 2, 1>, ReLU, Conv2d<8, 10, 3, Size2{1, 2}>, MaxPool2d<Size2{1, 3}>,
                   Flatten, Linear<80, 2>>,
        Input<3, 12, 26>>("strides 2, 1 x 2; pool 1 x 3");
  check<Sequential<Conv2d<4, 8, 3>, MaxPool2d<Size2{3, 2}>, Conv2d<8, 8, 2>, Flatten, Linear<72, 2>>,
        Input<4, 14, 11>>("pool 3 x 2, rest dropped");
}

TEST_CASE("a kernel too wide for a block's shared memory is refused, and named") {
  using Net = Sequential<Conv2d<4, 4, Size2{1, 900}>, Flatten, Linear<4, 2>>;
  Model<Net, Input<4, 1, 900>, Cuda, double> model;
  CHECK_THROWS_WITH_AS(model.predict(kern::randn<double, Shape<dyn, 4, 1, 900>>(Seed{1}, 1)),
                       "a convolution's kernel of 1 x 900 is too wide for the shared memory of a CUDA block",
                       ShapeError);
}
