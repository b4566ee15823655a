#include "kern/ops/chain.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kern/core/simd.hpp"
#include "kern/ops/dropout.hpp"
#include "kern/ops/relu.hpp"
#include "kern/ops/sigmoid.hpp"
#include "kern/ops/silu.hpp"
#include "kern/ops/tanh.hpp"

using namespace kern;
using ops::Chain;

namespace chain_test {
// y = x + by and y = x * by: which comes first shows.
struct Add {
  float by;
  static constexpr bool monotone = true;
  static constexpr ops::Needs needs = ops::Needs::nothing;
  static constexpr ops::Keeps keeps = ops::Keeps::nothing;
  template <class V>
  struct Bound {
    float by;
    V forward(V x, int) const { return x + by; }
    V backward(V dy, V, int) const { return dy; }
  };
  template <class V>
  Bound<V> bind(ops::Place, ops::Draw) const {
    return {by};
  }
};
struct Scale {
  float by;
  static constexpr bool monotone = false;
  static constexpr ops::Needs needs = ops::Needs::nothing;
  static constexpr ops::Keeps keeps = ops::Keeps::nothing;
  template <class V>
  struct Bound {
    float by;
    V forward(V x, int pixel) const { return x * by + float(pixel); }
    V backward(V dy, V, int) const { return dy * by; }
  };
  template <class V>
  Bound<V> bind(ops::Place, ops::Draw) const {
    return {by};
  }
};
}  // namespace chain_test
using chain_test::Add;
using chain_test::Scale;

TEST_CASE("an empty chain does nothing") {
  const auto bound = Chain<>::of().bind<float>(ops::Place{}, ops::Draw{});
  CHECK(bound.forward(3, 0) == 3);
  CHECK(bound.backward(3, 5, 0) == 3);
}

TEST_CASE("ops apply from left to right, and see the pixel") {
  const auto a = Chain<Add, Scale>::of({1}, {10}).bind<float>(ops::Place{}, ops::Draw{});
  CHECK(a.forward(2, 0) == 30);  // (2 + 1) * 10
  CHECK(a.forward(2, 5) == 35);
  const auto b = Chain<Scale, Add>::of({10}, {1}).bind<float>(ops::Place{}, ops::Draw{});
  CHECK(b.forward(2, 0) == 21);  // 2 * 10 + 1
}

TEST_CASE("derivatives multiply, from the last op to the first") {
  const auto chain = Chain<Scale, ops::Relu>::of({10}, {}).bind<float>(ops::Place{}, ops::Draw{});
  const float y = chain.forward(2, 0);
  CHECK(y == 20);
  CHECK(chain.backward(3, y, 0) == 30);
  const float off = chain.forward(-2, 0);
  CHECK(off == 0);
  CHECK(chain.backward(3, off, 0) == 0);
}

// Behind a ReLU the way back asks for no random numbers: what is positive was kept.
TEST_CASE("relu before dropout: the gradient is masked twice") {
  const auto check = [](const auto& dropout, const auto& both, ops::Draw draw) {
    const int channels = 64;
    int alive = 0, off = 0;
    for (int c = 0; c < channels; ++c) {
      const ops::Place place{0, c, channels};
      const auto chain = both.template bind<float>(place, draw);
      const float factor = dropout.template bind<float>(place, draw).forward(1, 0);
      for (float x : {-1.0f, 3.0f}) {
        const float y = chain.forward(x, 0);
        REQUIRE(y == (x > 0 ? x : 0) * factor);
        REQUIRE(chain.backward(5, y, 0) == (x > 0 ? 5 * factor : 0));
        (y != 0 ? alive : off)++;
      }
    }
    CHECK(alive > 0);
    CHECK(off >= channels + (draw.train ? 1 : 0));
  };
  const ops::Relu relu{};
  const ops::Dropout each{0.5, 0};
  const ops::DropoutChannels whole{0.5, 1};
  for (const bool train : {true, false}) {
    const ops::Draw draw{Seed{1}, 0, train};
    check(Chain<ops::Dropout>::of(each), Chain<ops::Relu, ops::Dropout>::of(relu, each), draw);
    check(Chain<ops::DropoutChannels>::of(whole), Chain<ops::Relu, ops::DropoutChannels>::of(relu, whole),
          draw);
    check(Chain<ops::DropoutChannels, ops::Dropout>::of(whole, each),
          Chain<ops::Relu, ops::DropoutChannels, ops::Dropout>::of(relu, whole, each), draw);
  }
}

TEST_CASE("a chain is monotone if all its ops are, and keeps what the least of them does") {
  static_assert(Chain<>::monotone);
  static_assert(Chain<ops::Relu, ops::DropoutChannels>::monotone);
  static_assert(!Chain<ops::Relu, ops::Dropout>::monotone);
  static_assert(!Chain<Scale, ops::Relu>::monotone);
  static_assert(Chain<>::keeps == ops::Keeps::value);
  static_assert(Chain<ops::DropoutChannels, ops::Dropout>::keeps == ops::Keeps::value);
  static_assert(Chain<ops::Relu, ops::Dropout>::keeps == ops::Keeps::sign);
  static_assert(Chain<Add, ops::Relu>::keeps == ops::Keeps::nothing);
}

// d sigmoid(x) = s (1 - s), s = 1 / (1 + e^-x).
TEST_CASE("an op that needs its output finds it behind dropout") {
  const ops::Draw draw{Seed{1}, 0, true};
  const auto ops = Chain<ops::Sigmoid, ops::DropoutChannels, ops::Dropout>::of({}, {0.5, 1}, {0.25, 2});
  const double x = 0.7, s = 1 / (1 + std::exp(-x));
  int alive = 0;
  for (int c = 0; c < 64; ++c) {
    const auto chain = ops.bind<double>(ops::Place{0, c, 64}, draw);
    const double y = chain.forward(x, 0), factor = y / s;
    CHECK(chain.backward(3, y, 0) == doctest::Approx(3 * factor * s * (1 - s)));
    alive += y != 0;
  }
  CHECK(alive > 10);
  CHECK(alive < 50);
}

TEST_CASE("from its input, any chain of ops goes back") {
  const auto chain =
      Chain<ops::Silu, Scale, ops::Tanh, Add>::of({}, {2}, {}, {1}).bind<double>(ops::Place{}, ops::Draw{});
  const auto f = [&](double x) { return chain.forward(x, 0); };
  for (const double x : {-2.0, 0.1, 0.9}) {
    const double h = 1e-6, numeric = (f(x + h) - f(x - h)) / (2 * h);
    CHECK(chain.backward_from_input(1, x, 0) == doctest::Approx(numeric).epsilon(1e-8));
  }
}

TEST_CASE("a chain on a register is the chain on each lane") {
  const ops::Draw draw{Seed{4}, 2, true};
  const int channels = simd::lanes<float>;
  const auto chain = Chain<Add, ops::Relu, ops::Dropout>::of({-1}, {}, {0.5, 7});
  const auto all = chain.bind<simd::vec<float>>(ops::Place{3, 0, channels}, draw);
  simd::vec<float> x{}, dy{};
  for (int i = 0; i < channels; ++i) {
    x[i] = float(i % 4);
    dy[i] = float(i + 1);
  }
  const simd::vec<float> y = all.forward(x, 1), dx = all.backward(dy, y, 1);
  for (int i = 0; i < channels; ++i) {
    const auto one = chain.bind<float>(ops::Place{3, i, channels}, draw);
    CHECK(float(y[i]) == one.forward(x[i], 1));
    CHECK(float(dx[i]) == one.backward(dy[i], y[i], 1));
  }
}
