#include "kern/core/math.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

using namespace kern;

namespace {

/// How many floats lie between a and b, both finite or equal.
std::int64_t apart(float a, float b) {
  if (a == b) return 0;
  const auto order = [](float x) {
    std::int32_t i;
    std::memcpy(&i, &x, sizeof i);
    return std::int64_t(i < 0 ? INT32_MIN - std::int64_t(i) : i);
  };
  return std::abs(order(a) - order(b));
}

/// The largest distance of f on a register from `exact` in double, over every `step`th float of [-limit,
/// limit].
template <class F, class G>
std::int64_t worst(F f, G exact, float limit, std::int32_t step) {
  std::int32_t last;
  std::memcpy(&last, &limit, sizeof last);
  std::int64_t most = 0;
  for (std::int64_t bits = 0; bits <= last; bits += step) {
    float x;
    const auto b = std::int32_t(bits);
    std::memcpy(&x, &b, sizeof x);
    for (const float at : {x, -x})
      most = std::max(most, apart(float(f(simd::splat(at))[0]), float(exact(double(at)))));
  }
  return most;
}

template <class F>
void check_special(F f, float (*exact)(float)) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float x : {inf, -inf, 0.0f, -0.0f, 200.0f, -200.0f}) {
    CAPTURE(x);
    const float y = f(simd::splat(x))[0];
    CHECK(y == exact(x));
    CHECK(std::signbit(y) == std::signbit(exact(x)));
  }
  CHECK(std::isnan(float(f(simd::splat(std::numeric_limits<float>::quiet_NaN()))[0])));
}

}  // namespace

// The functions are called with the last bits of a float in play: 1000th of them all.
TEST_CASE("a register's functions are the standard library's within two units in the last place") {
  constexpr std::int32_t step = 1013;
  CHECK(worst([](simd::vec<float> x) { return math::exp(x); }, [](double x) { return std::exp(x); }, 110,
              step) <= 2);
  CHECK(worst([](simd::vec<float> x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }, 20,
              step) <= 2);
  CHECK(worst([](simd::vec<float> x) { return math::erf(x); }, [](double x) { return std::erf(x); }, 10,
              step) <= 2);
}

TEST_CASE("infinities, zeros and NaN") {
  check_special([](simd::vec<float> x) { return math::exp(x); }, [](float x) { return std::exp(x); });
  check_special([](simd::vec<float> x) { return math::tanh(x); }, [](float x) { return std::tanh(x); });
  check_special([](simd::vec<float> x) { return math::erf(x); }, [](float x) { return std::erf(x); });
}

TEST_CASE_TEMPLATE("numbers, and every lane of a register of doubles, are the standard library's", T, float,
                   double) {
  CHECK(math::exp(T(0.3)) == std::exp(T(0.3)));
  CHECK(math::tanh(T(-2)) == std::tanh(T(-2)));
  CHECK(math::erf(T(1.5)) == std::erf(T(1.5)));
  simd::vec<double> x{};
  for (int i = 0; i < simd::lanes<double>; ++i) x[i] = 0.7 * i - 1;
  for (int i = 0; i < simd::lanes<double>; ++i) {
    CHECK(double(math::exp(x)[i]) == std::exp(double(x[i])));
    CHECK(double(math::tanh(x)[i]) == std::tanh(double(x[i])));
    CHECK(double(math::erf(x)[i]) == std::erf(double(x[i])));
  }
}

TEST_CASE("exp(x) - 1 near 0 and far from it") {
  for (const float x : {1e-7f, -1e-4f, -0.3f, -5.0f, -80.0f, 20.0f}) {
    CAPTURE(x);
    CHECK(apart(float(math::expm1(simd::splat(x))[0]), std::expm1(x)) <=
          4);  // a product of two that are off by 2
    CHECK(math::expm1(double(x)) == std::expm1(double(x)));
  }
}

TEST_CASE("the logistic function, far out, too") {
  CHECK(math::sigmoid(0.0) == 0.5);
  CHECK(math::sigmoid(2.0) == doctest::Approx(0.8807970779778823));  // 1 / (1 + e^-2)
  CHECK(float(math::sigmoid(simd::splat(-300.0f))[0]) == 0.0f);
  CHECK(float(math::sigmoid(simd::splat(300.0f))[0]) == 1.0f);
}
