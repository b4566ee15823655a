#include "kern/ops/dropout.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kern/core/simd.hpp"

using namespace kern;
using ops::Dropout;
using ops::DropoutChannels;

namespace {
constexpr ops::Draw training(std::uint64_t seed = 1, std::uint32_t step = 0) {
  return {Seed{seed}, step, true};
}

// The factor of every element of (samples, pixels, channels), one scalar at a time.
template <class T, class Op>
std::vector<T> factors(const Op& op, ops::Draw draw, int samples, int pixels, int channels) {
  std::vector<T> m;
  for (int s = 0; s < samples; ++s)
    for (int p = 0; p < pixels; ++p)
      for (int c = 0; c < channels; ++c)
        m.push_back(op.template bind<T>(ops::Place{s, c, channels}, draw).forward(T(1), p));
  return m;
}

double kept(const std::vector<float>& m) {
  double n = 0;
  for (float f : m) n += f != 0;
  return n;
}

// The number kept of n is binomial(n, 1 - p): mean n (1 - p), variance n p (1 - p). It is off by more than
// five standard deviations in one of 1.7 million runs; the seeds are fixed, so a pass stays a pass.
void check_rate(double count, double n, double p) {
  CAPTURE(p);
  CHECK(std::abs(count - n * (1 - p)) <= 5 * std::sqrt(n * p * (1 - p)));
}
}  // namespace

TEST_CASE("dropout keeps an element with probability 1 - p and scales it by 1 / (1 - p)") {
  for (double p : {0.1, 0.25, 0.5, 0.9}) {
    for (std::uint64_t seed : {1u, 2u, 3u}) {
      const auto m = factors<float>(Dropout{p, 0}, training(seed), 8, 25, 64);
      check_rate(kept(m), double(m.size()), p);
      for (float f : m)
        if (f != 0) REQUIRE(f == float(1 / (1 - p)));
    }
  }
}

TEST_CASE("the masks of samples, pixels, channels, steps, layers and seeds are independent") {
  const double p = 0.5;
  const auto a = factors<float>(Dropout{p, 0}, training(), 4, 16, 64);
  // Two independent masks agree at an element with probability 1/2.
  const auto check_independent = [&](const std::vector<float>& x, const std::vector<float>& y) {
    REQUIRE(x.size() == y.size());
    double same = 0;
    for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i];
    check_rate(same, double(x.size()), 0.5);
  };
  check_independent(a, factors<float>(Dropout{p, 1}, training(), 4, 16, 64));
  check_independent(a, factors<float>(Dropout{p, 0}, training(1, 1), 4, 16, 64));
  check_independent(a, factors<float>(Dropout{p, 0}, training(2), 4, 16, 64));
  // Shifted against itself: by a channel, a pixel, a sample.
  for (std::size_t shift : {1u, 4u, 64u, 16u * 64u})
    check_independent({a.begin() + std::ptrdiff_t(shift), a.end()},
                      {a.begin(), a.end() - std::ptrdiff_t(shift)});
}

TEST_CASE("forward and backward use the same mask") {
  for (int s = 0; s < 3; ++s)
    for (int c = 0; c < 40; ++c)
      for (int p = 0; p < 5; ++p) {
        const auto each = Dropout{0.5, 3}.bind<float>(ops::Place{s, c, 40}, training());
        REQUIRE(each.forward(1, p) == each.backward(1, 7, p));
        const auto channel = DropoutChannels{0.5, 3}.bind<float>(ops::Place{s, c, 40}, training());
        REQUIRE(channel.forward(1, p) == channel.backward(1, 7, p));
      }
}

TEST_CASE("p = 0 keeps everything as it is, p = 1 nothing") {
  for (float f : factors<float>(Dropout{0, 0}, training(), 2, 9, 64)) REQUIRE(f == 1);
  for (float f : factors<float>(Dropout{1, 0}, training(), 2, 9, 64)) REQUIRE(f == 0);
  for (float f : factors<float>(DropoutChannels{0, 0}, training(), 2, 9, 64)) REQUIRE(f == 1);
  for (float f : factors<float>(DropoutChannels{1, 0}, training(), 2, 9, 64)) REQUIRE(f == 0);
  static_assert(ops::DropoutRate(0).bar == 0);
  static_assert(ops::DropoutRate(0.25).bar == 1u << 30);
  static_assert(ops::DropoutRate(0.5).bar == 1u << 31);
}

TEST_CASE("outside training dropout does nothing") {
  const ops::Draw evaluating{Seed{1}, 0, false};
  for (float f : factors<float>(Dropout{0.9, 0}, evaluating, 2, 9, 64)) REQUIRE(f == 1);
  for (float f : factors<float>(DropoutChannels{0.9, 0}, evaluating, 2, 9, 64)) REQUIRE(f == 1);
}

TEST_CASE("channel dropout drops whole channels of a sample, each with probability p") {
  const int samples = 64, pixels = 6, channels = 50;
  for (double p : {0.25, 0.5}) {
    const auto m = factors<float>(DropoutChannels{p, 0}, training(), samples, pixels, channels);
    const auto at = [&](int s, int pixel, int c) {
      return m[std::size_t((s * pixels + pixel) * channels + c)];
    };
    double kept_channels = 0;
    for (int s = 0; s < samples; ++s)
      for (int c = 0; c < channels; ++c) {
        for (int pixel = 1; pixel < pixels; ++pixel) REQUIRE(at(s, pixel, c) == at(s, 0, c));
        REQUIRE((at(s, 0, c) == 0 || at(s, 0, c) == float(1 / (1 - p))));
        kept_channels += at(s, 0, c) != 0;
      }
    check_rate(kept_channels, samples * channels, p);
  }
}

TEST_CASE_TEMPLATE("a register of channels has the mask of each of its channels", T, float, double) {
  const int channels = 4 * simd::lanes<T>;
  for (int s = 0; s < 2; ++s)
    for (int first = 0; first < channels; first += simd::lanes<T>) {
      CAPTURE(first);
      const ops::Place place{s, first, channels};
      const auto each = Dropout{0.5, 2}.bind<simd::vec<T>>(place, training());
      const auto channel = DropoutChannels{0.5, 2}.bind<simd::vec<T>>(place, training());
      for (int pixel = 0; pixel < 3; ++pixel) {
        const simd::vec<T> a = each.forward(simd::splat(T(3)), pixel),
                           b = channel.forward(simd::splat(T(3)), pixel);
        for (int i = 0; i < simd::lanes<T>; ++i) {
          const ops::Place one{s, first + i, channels};
          REQUIRE(T(a[i]) == Dropout{0.5, 2}.bind<T>(one, training()).forward(T(3), pixel));
          REQUIRE(T(b[i]) == DropoutChannels{0.5, 2}.bind<T>(one, training()).forward(T(3), pixel));
        }
      }
    }
}

TEST_CASE("float and double drop the same elements") {
  const auto f = factors<float>(Dropout{0.3, 0}, training(), 2, 9, 64);
  const auto d = factors<double>(Dropout{0.3, 0}, training(), 2, 9, 64);
  for (std::size_t i = 0; i < f.size(); ++i) REQUIRE((f[i] == 0) == (d[i] == 0));
}
