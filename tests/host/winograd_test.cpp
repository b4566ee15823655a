#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <kern/host/backend.hpp>
#include <kern/host/winograd.hpp>
#include <kern/ops/chain.hpp>
#include <limits>

#include "support/reference.hpp"

using namespace kern;
using test::Doubles;

namespace {

/// The largest error of a forward pass against double, in units of rounding of sum |x||w|; values uniform in
/// [-1, 1) plus `offset`.
template <stage::Contraction C>
double worst_error(double offset) {
  constexpr stage::Contraction c = [] {
    stage::Contraction s = C;
    s.cols = math::round_up(s.co, simd::lanes<float>);
    s.ci = math::round_up(s.ci, simd::lanes<float>);
    return s;
  }();
  static_assert(host::uses_winograd<float>(c));
  constexpr int n = 2;
  using B = host::Backend<float>;
  B backend(1);
  backend.reserve(B::scratch_size(c, n));
  host::Buffer<float> x(std::size_t(n * c.in_size())), w(std::size_t(c.weight_size())),
      prepared(B::forward_size(c)), y(std::size_t(n * c.out_size()));
  host::Buffer<stage::WindowIndex> argmax(y.size());
  std::uint32_t i = 0;
  const auto next = [&] {
    return float(offset) + 2 * rng::uniform(rng::draw(Seed{3}, rng::Stream::tensor, 0, 0, i++)[0]) - 1;
  };
  for (std::size_t e = 0; e < x.size(); ++e) x[e] = next();
  for (std::size_t e = 0; e < w.size(); ++e) w[e] = int(e % std::size_t(c.cols)) < c.co ? next() : 0;
  const stage::Known<c> d;
  backend.prepare_forward(d, w.data(), prepared.data());
  backend.forward(stage::Slice{0, n, 0}, d,
                  stage::ForwardPass<float>{
                      x.data(), {w.data(), nullptr, prepared.data(), nullptr}, y.data(), argmax.data()},
                  ops::Chain<>{}, ops::Draw{});
  double worst = 0;
  for (int s = 0; s < n; ++s)
    for (int p = 0; p < c.out_h() * c.out_w(); ++p)
      for (int o = 0; o < c.co; ++o) {
        const auto e = std::size_t(s * c.out_size() + p * c.cols + o);
        double top = -std::numeric_limits<double>::infinity(), size = 0, chosen = 0;
        for (int q = 0; q < 4; ++q) {
          const int row = p / c.out_w() * 2 + q / 2, column = p % c.out_w() * 2 + q % 2;
          double sum = 0, absolute = 0;
          for (int a = 0; a < c.kh; ++a)
            for (int b = 0; b < c.kw; ++b)
              for (int k = 0; k < c.ci; ++k) {
                const double product =
                    double(x[std::size_t(s * c.in_size() + ((row + a) * c.w + column + b) * c.ci + k)]) *
                    w[std::size_t(((a * c.kw + b) * c.ci + k) * c.cols + o)];
                sum += product;
                absolute += std::abs(product);
              }
          top = std::max(top, sum);
          size = std::max(size, absolute);
          if (q == argmax[e]) chosen = sum;
        }
        // Which one won may differ where two are as close as the error.
        worst = std::max({worst, std::abs(y[e] - top) / size, std::abs(chosen - top) / size});
      }
  return worst / std::numeric_limits<float>::epsilon();
}

}  // namespace

TEST_CASE("rounding stays within a few units of sum |x||w|") {
  //                              h   w   ci kh kw co cols stride pool border
  const double small =
      std::max({worst_error<stage::Contraction{10, 12, 16, 3, 3, 16, 0, 1, 1, 2, 2, 0, 0}>(0),
                worst_error<stage::Contraction{15, 9, 64, 3, 3, 20, 0, 1, 1, 2, 2, 0, 0}>(0),
                worst_error<stage::Contraction{10, 12, 16, 3, 3, 16, 0, 1, 1, 2, 2, 0, 0}>(1)});
  MESSAGE("3x3: " << small);
  CHECK(small < 4);
  const double large =
      std::max({worst_error<stage::Contraction{10, 12, 16, 5, 5, 16, 0, 1, 1, 2, 2, 0, 0}>(0),
                worst_error<stage::Contraction{15, 9, 64, 5, 5, 20, 0, 1, 1, 2, 2, 0, 0}>(0),
                worst_error<stage::Contraction{10, 12, 16, 5, 5, 16, 0, 1, 1, 2, 2, 0, 0}>(1)});
  MESSAGE("5x5: " << large);
  CHECK(large < 8);
}
