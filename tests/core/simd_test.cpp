#include "kern/core/simd.hpp"
#include "kern/core/round.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace kern;

TEST_CASE("a register has the target's width") {
  static_assert(sizeof(simd::vec<float>) == simd::register_bytes);
  static_assert(sizeof(simd::vec<double>) == simd::register_bytes);
  static_assert(simd::lanes<float> == simd::register_bytes / 4);
  static_assert(simd::lanes<double> == simd::register_bytes / 8);
#ifdef __AVX512F__
  static_assert(simd::lanes<float> == 16);
#elif defined(__AVX__)
  static_assert(simd::lanes<float> == 8);
#endif
}

TEST_CASE_TEMPLATE("load and store move one register, from anywhere", T, float, double) {
  constexpr int n = simd::lanes<T>;
  std::vector<T> from(std::size_t(n) + 2), to(std::size_t(n) + 2, T(-1));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = T(i) + T(0.5);
  simd::store<T>(to.data() + 1, simd::load<T>(from.data() + 1));
  CHECK(to.front() == T(-1));
  CHECK(to.back() == T(-1));
  for (std::size_t i = 1; i <= std::size_t(n); ++i) CHECK(to[i] == from[i]);
}

TEST_CASE_TEMPLATE("splat puts the same bits into every lane", T, float, double) {
  for (T x : {T(1.5), T(-3), T(0), T(-0.0), T(INFINITY)}) {
    const simd::vec<T> v = simd::splat(x);
    for (int i = 0; i < simd::lanes<T>; ++i) {
      const T lane = v[i];
      CHECK(std::memcmp(&lane, &x, sizeof x) == 0);
    }
  }
  const simd::vec<T> v = simd::splat(T(NAN));
  for (int i = 0; i < simd::lanes<T>; ++i) CHECK(std::isnan(T(v[i])));
}

TEST_CASE_TEMPLATE("transpose turns rows into columns", T, float, double) {
  constexpr int n = simd::lanes<T>;
  simd::vec<T> r[n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) r[i][j] = T(100 * i + j);
  simd::transpose<T>(r);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) CHECK(T(r[i][j]) == T(100 * j + i));
}

TEST_CASE("round_up gives the next multiple") {
  static_assert(math::round_up(0, 16) == 0);
  static_assert(math::round_up(1, 16) == 16);
  static_assert(math::round_up(16, 16) == 16);
  static_assert(math::round_up(17, 16) == 32);
  static_assert(math::round_up(10, 1) == 10);
}
