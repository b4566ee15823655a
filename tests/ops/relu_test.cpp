#include "kern/ops/relu.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kern/core/simd.hpp"

using namespace kern;

TEST_CASE_TEMPLATE("relu is max(x, 0), and its derivative 1 where that is positive", T, float, double) {
  const auto relu = ops::Relu{}.bind<T>(ops::Place{}, ops::Draw{});
  CHECK(relu.forward(T(2.5), 0) == T(2.5));
  CHECK(relu.forward(T(-2.5), 0) == T(0));
  CHECK(relu.forward(T(0), 0) == T(0));
  CHECK(relu.forward(T(INFINITY), 0) == T(INFINITY));
  CHECK(relu.forward(-T(INFINITY), 0) == T(0));
  CHECK(std::isnan(relu.forward(T(NAN), 0)));
  // (dy, y); PyTorch's derivative at 0 is 0.
  CHECK(relu.backward(T(3), T(2.5), 0) == T(3));
  CHECK(relu.backward(T(-3), T(1e-30), 0) == T(-3));
  CHECK(relu.backward(T(3), T(0), 0) == T(0));
}

TEST_CASE_TEMPLATE("relu of a register is relu of each lane", T, float, double) {
  const auto one = ops::Relu{}.bind<T>(ops::Place{}, ops::Draw{});
  const auto all = ops::Relu{}.bind<simd::vec<T>>(ops::Place{}, ops::Draw{});
  simd::vec<T> x{}, dy{};
  for (int i = 0; i < simd::lanes<T>; ++i) {
    x[i] = T(i % 3 - 1) * T(i + 1);
    dy[i] = T(i) - T(2.5);
  }
  const simd::vec<T> y = all.forward(x, 0), dx = all.backward(dy, y, 0);
  for (int i = 0; i < simd::lanes<T>; ++i) {
    CAPTURE(i);
    CHECK(T(y[i]) == one.forward(x[i], 0));
    CHECK(T(dx[i]) == one.backward(dy[i], y[i], 0));
  }
  simd::vec<T> bad = x;
  bad[1] = T(NAN);
  CHECK(std::isnan(T(all.forward(bad, 0)[1])));
}
