#include <doctest/doctest.h>

#include <cmath>
#include <kern/host/backend.hpp>
#include <kern/ops/chain.hpp>
#include <vector>

#include "support/reference.hpp"

using namespace kern;

namespace {

template <class T>
void check(int rows, int pixels, int channels, bool log) {
  constexpr int n = 3;
  const stage::SoftmaxRows c{rows, pixels, channels, math::round_up(channels, simd::lanes<T>), log};
  CAPTURE(rows);
  CAPTURE(pixels);
  CAPTURE(channels);
  CAPTURE(log);
  host::Backend<T> backend(2);
  const stage::Known<stage::all_dyn<stage::SoftmaxRows>()> d(c);
  const std::size_t size = std::size_t(n * c.in_size()), row_size = std::size_t(pixels * c.cols);
  host::Buffer<T> x(size), y(size), dy(size), dx(size);
  test::Integers next(5);
  const auto real = [&](std::size_t e) { return int(e % std::size_t(c.cols)) < c.c; };
  for (std::size_t e = 0; e < size; ++e)
    if (real(e)) x[e] = T(next(90)), dy[e] = T(next(5));  // exp(90) overflows a float
  const stage::Slice whole{0, n, stage::Slice::whole};
  backend.forward(whole, d, stage::ForwardPass<T>{x.data(), {}, y.data(), nullptr}, ops::Chain<>{},
                  ops::Draw{});
  const stage::BackwardPass<T> back{x.data(), {}, y.data(), nullptr, dy.data(), dx.data(), nullptr, nullptr};
  backend.template backward<true>(whole, d, back, ops::Chain<>{}, stage::NoBelow{}, ops::Draw{});
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  for (std::size_t row = 0; row < size; row += row_size) {
    long double total = 0, gradient = 0;  // the latter: sum of dy, or of dy * p
    for (std::size_t e = row; e < row + row_size; ++e)
      if (real(e)) total += std::exp(static_cast<long double>(x[e]));
    for (std::size_t e = row; e < row + row_size; ++e)
      if (real(e)) gradient += log ? dy[e] : dy[e] * std::exp(static_cast<long double>(x[e])) / total;
    for (std::size_t e = row; e < row + row_size; ++e) {
      const long double log_p = x[e] - std::log(total);
      const long double p = std::exp(log_p);
      const double expected = real(e) ? double(log ? log_p : p) : 0;
      const double expected_dx = real(e) ? double(log ? dy[e] - p * gradient : p * (dy[e] - gradient)) : 0;
      CHECK(double(y[e]) == doctest::Approx(expected).epsilon(tolerance));
      CHECK(double(dx[e]) == doctest::Approx(expected_dx).epsilon(10 * tolerance));
      if (!real(e)) CHECK((y[e] == 0 && dx[e] == 0));
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("softmax of rows, its logarithm, and their gradients", T, float, double) {
  for (const bool log : {true, false}) {
    check<T>(1, 1, 10, log);
    check<T>(6, 1, 33, log);
    check<T>(2, 3, 5, log);
    check<T>(2, 1, 1, log);
  }
}
