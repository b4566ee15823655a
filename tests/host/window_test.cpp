#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <kern/host/backend.hpp>
#include <kern/ops/chain.hpp>
#include <kern/ops/dropout.hpp>
#include <kern/ops/relu.hpp>
#include <limits>

#include "support/reference.hpp"

using namespace kern;
using test::Doubles;

namespace {

constexpr int first = 3, count = 5;  // samples 3..7 of a batch
constexpr ops::Draw training{Seed{11}, 4, true};
constexpr double untouched = -77;

template <class T>
struct Result {
  host::Buffer<T> y, dx;
  host::Buffer<stage::WindowIndex> argmax;
};

template <class T, auto V, class Chain>
Result<T> run(const stage::Window& c, const Doubles& x64, const Doubles& dy64, const Chain& chain,
              int threads, bool whole) {
  const stage::Known<V> d(c);
  host::Backend<T> backend(threads);
  backend.reserve(host::Backend<T>::scratch_size(c, count));
  const std::size_t in = std::size_t(c.in_size()), out = std::size_t(c.out_size());
  host::Buffer<T> x(count * in), dy(count * out);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(x64[i]);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = T(dy64[i]);
  Result<T> r{host::Buffer<T>(count * out), host::Buffer<T>(count * in),
              host::Buffer<stage::WindowIndex>(count * out)};
  std::fill_n(r.y.data(), r.y.size(), T(untouched));
  std::fill_n(r.dx.data(), r.dx.size(), T(untouched));
  stage::WindowIndex* const argmax = c.pooling == stage::pool_max ? r.argmax.data() : nullptr;
  const auto both = [&](stage::Slice s) {
    const std::size_t at = std::size_t(std::max(0, s.first - first));
    stage::WindowIndex* const index = argmax ? argmax + at * out : nullptr;
    backend.forward(s, d, stage::ForwardPass<T>{x.data() + at * in, {}, r.y.data() + at * out, index}, chain,
                    training);
    backend.template backward<true>(s, d,
                                    stage::BackwardPass<T>{x.data() + at * in,
                                                           {},
                                                           r.y.data() + at * out,
                                                           index,
                                                           dy.data() + at * out,
                                                           r.dx.data() + at * in,
                                                           nullptr,
                                                           nullptr},
                                    chain, stage::NoBelow{}, training);
  };
  if (whole)
    both(stage::Slice{first, first + count, stage::Slice::whole});
  else
    backend.chunks(count, 2, [&](stage::Slice s, int) {
      both(stage::Slice{first + s.first, first + s.last, s.worker});
    });
  return r;
}

template <class T, stage::Window W, class Chain>
void check(const Chain& chain) {
  constexpr stage::Window c = [] {
    stage::Window w = W;
    w.cols = math::round_up(w.c, simd::lanes<T>);
    return w;
  }();
  CAPTURE(sizeof(T));
  CAPTURE(c.c);
  CAPTURE(c.kh);
  CAPTURE(c.stride_h);
  CAPTURE(c.pad_h);
  test::Integers next(3);
  Doubles x(std::size_t(count * c.in_size())), dy(std::size_t(count * c.out_size()), NAN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = int(i % std::size_t(c.cols)) < c.c ? next(9) : 0;
  for (int s = 0; s < count; ++s)
    for (int i = 0; i < c.out_h(); ++i)
      for (int j = 0; j < c.out_w(); ++j)
        for (int o = 0; o < c.cols; ++o)
          dy[std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o)] =
              o < c.c ? next(3) : 0;
  auto expected = test::window(c, first, count, x, dy, chain, training);
  const auto r = run<T, c>(c, x, dy, chain, 1, false);
  std::size_t wrong_y = 0, wrong_index = 0, wrong_dx = 0;
  for (int s = 0; s < count; ++s)
    for (int i = -c.border_h; i < c.out_h() + c.border_h; ++i)
      for (int j = -c.border_w; j < c.out_w() + c.border_w; ++j) {
        const bool inside = i >= 0 && j >= 0 && i < c.out_h() && j < c.out_w();
        for (int o = 0; o < c.cols; ++o) {
          const auto e = std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o);
          wrong_y += double(r.y[e]) != (inside ? expected.y[e] : untouched);
          wrong_index +=
              inside && o < c.c && c.pooling == stage::pool_max && r.argmax[e] != expected.winner[e];
        }
      }
  for (std::size_t i = 0; i < x.size(); ++i) wrong_dx += double(r.dx[i]) != expected.dx[i];
  CHECK(wrong_y == 0);
  CHECK(wrong_index == 0);
  CHECK(wrong_dx == 0);

  for (const auto& b : {run<T, c>(c, x, dy, chain, 3, true),
                        run<T, stage::all_dyn<stage::Window>()>(c, x, dy, chain, 2, true)}) {
    CHECK(std::memcmp(b.y.data(), r.y.data(), r.y.size() * sizeof(T)) == 0);
    CHECK(std::memcmp(b.dx.data(), r.dx.data(), r.dx.size() * sizeof(T)) == 0);
  }
}

template <stage::Window W, class Chain>
void check_both(const Chain& chain) {
  check<float, W>(chain);
  check<double, W>(chain);
}

constexpr auto none = ops::Chain<>{};
constexpr auto relu_drop = ops::Chain<ops::Relu, ops::Dropout>::of({}, {0.5, 2});

}  // namespace

//                     h   w   c  cols kh kw stride pad border
TEST_CASE("windows") {
  check_both<stage::Window{8, 9, 5, 0, 2, 2, 2, 2, 0, 0, 0, 0}>(none);
  check_both<stage::Window{9, 9, 20, 0, 3, 3, 1, 1, 1, 1, 0, 0}>(relu_drop);  // overlapping, padded
  check_both<stage::Window{9, 11, 16, 0, 3, 2, 2, 3, 1, 0, 2, 1}>(relu_drop);
  check_both<stage::Window{20, 1, 3, 0, 3, 1, 1, 1, 0, 0, 0, 0}>(none);
  check_both<stage::Window{7, 7, 4, 0, 7, 7, 7, 7, 3, 3, 0, 0}>(none);
}

// Divisors are powers of two, so that means are exact, too.
TEST_CASE("means over windows") {
  check_both<stage::Window{8, 9, 5, 0, 2, 2, 2, 2, 0, 0, 0, 0, stage::pool_mean}>(none);
  check_both<stage::Window{7, 9, 20, 0, 4, 2, 1, 2, 2, 1, 1, 2, stage::pool_mean}>(
      relu_drop);  // overlapping, padded
  check_both<stage::Window{6, 9, 3, 0, 1, 2, 1, 1, 0, 0, 0, 0, stage::pool_mean_inside}>(relu_drop);
  check_both<stage::Window{3, 3, 17, 0, 2, 2, 1, 1, 1, 1, 0, 0, stage::pool_mean_inside}>(
      none);  // 1, 2 and 4 inside
  check_both<stage::Window{6, 12, 9, 0, 1, 1, 1, 1, 0, 0, 0, 1, stage::pool_mean_inside, 4, 3}>(
      relu_drop);  // overlapping
  check_both<stage::Window{4, 4, 4, 0, 1, 1, 1, 1, 0, 0, 0, 0, stage::pool_mean_inside, 1, 1}>(none);
}

TEST_CASE("NaN beats all, -inf is no padding") {
  constexpr stage::Window c{4, 4, 1, simd::lanes<float>, 2, 2, 2, 2, 0, 0, 0, 0};
  Doubles x(std::size_t(count * c.in_size()), 0.0), dy(std::size_t(count * c.out_size()), 1.0);
  const auto pixel = [&](int i, int j) -> double& { return x[std::size_t((i * 4 + j) * c.cols)]; };
  pixel(0, 1) = std::numeric_limits<double>::quiet_NaN();
  for (int i : {2, 3})
    for (int j : {2, 3}) pixel(i, j) = -std::numeric_limits<double>::infinity();
  const auto r = run<float, c>(c, x, dy, none, 1, false);
  CHECK(std::isnan(r.y[0]));
  CHECK(r.argmax[0] == 1);
  CHECK(r.y[std::size_t(3 * c.cols)] == -std::numeric_limits<float>::infinity());
  CHECK(r.argmax[std::size_t(3 * c.cols)] == 0);
}
