#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <kern/host/backend.hpp>
#include <kern/ops/chain.hpp>
#include <kern/ops/dropout.hpp>
#include <kern/ops/relu.hpp>
#include <limits>
#include <string>

#include "support/reference.hpp"

using namespace kern;
using test::Doubles;

namespace {

template <class T>
host::Buffer<T> buffer(const Doubles& v) {
  host::Buffer<T> b(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) b[i] = T(v[i]);
  return b;
}

/// The descriptor as the plan would store it for T: channels padded to registers.
template <class T>
constexpr stage::Contraction stored(stage::Contraction c) {
  c.cols = math::round_up(c.co, simd::lanes<T>);
  if (c.ci > 4) c.ci = math::round_up(c.ci, simd::lanes<T>);
  return c;
}

constexpr int first = 3, count = 5;  // samples 3..7 of a batch
constexpr ops::Draw training{Seed{11}, 4, true};
constexpr double untouched = -77;

struct Data {
  Doubles x, w, bias, dy;
};

Data make_data(const stage::Contraction& c, int ci, bool with_bias, double zeros = 0.4) {
  test::Integers next(1);
  Data d{Doubles(std::size_t(count * c.in_size())), Doubles(std::size_t(c.weight_size())),
         Doubles(with_bias ? std::size_t(c.cols) : 0),
         Doubles(std::size_t(count * c.out_size()), std::numeric_limits<double>::quiet_NaN())};
  for (std::size_t i = 0; i < d.x.size(); ++i) d.x[i] = int(i % std::size_t(c.ci)) < ci ? next(3) : 0;
  for (std::size_t i = 0; i < d.w.size(); ++i) {
    const int o = int(i % std::size_t(c.cols)), k = int(i / std::size_t(c.cols) % std::size_t(c.ci));
    d.w[i] = o < c.co && k < ci ? next(2) : 0;
  }
  for (int o = 0; o < (with_bias ? c.co : 0); ++o) d.bias[std::size_t(o)] = next(4);
  for (int s = 0; s < count; ++s)
    for (int i = 0; i < c.out_h(); ++i)
      for (int j = 0; j < c.out_w(); ++j)
        for (int o = 0; o < c.cols; ++o)
          d.dy[std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o)] =
              o < c.co ? next(3, zeros) : 0;
  return d;
}

template <class T>
struct Result {
  host::Buffer<T> y, dx, dw, db;
  host::Buffer<stage::WindowIndex> argmax;
};

/// Forward as one whole batch if `whole`, else in slices of two; backward in slices of two.
template <bool DataGradient, class T, auto V, class Chain>
Result<T> run(const stage::Contraction& c, const Data& data, const Chain& chain, int threads, bool whole) {
  using B = host::Backend<T>;
  const stage::Known<V> d(c);
  B backend(threads);
  backend.reserve(B::scratch_size(c, count));
  const auto x = buffer<T>(data.x), w = buffer<T>(data.w), bias = buffer<T>(data.bias);
  auto dy = buffer<T>(data.dy);
  host::Buffer<T> forward(B::forward_size(c)), backward(B::backward_size(c));
  backend.prepare_forward(d, w.data(), forward.data());
  backend.prepare_backward(d, w.data(), backward.data());
  const stage::Weights<T> weights{w.data(), data.bias.empty() ? nullptr : bias.data(), forward.data(),
                                  backward.data()};
  const std::size_t in = std::size_t(c.in_size()), out = std::size_t(c.out_size());
  Result<T> r{host::Buffer<T>(count * out), host::Buffer<T>(count * in),
              host::Buffer<T>(std::size_t(c.weight_size())), host::Buffer<T>(std::size_t(c.cols)),
              host::Buffer<stage::WindowIndex>(count * out)};
  std::fill_n(r.y.data(), r.y.size(), T(untouched));
  if (whole) {
    backend.forward(stage::Slice{first, first + count, stage::Slice::whole}, d,
                    stage::ForwardPass<T>{x.data(), weights, r.y.data(), r.argmax.data()}, chain, training);
  } else {
    backend.chunks(count, 2, [&](stage::Slice s, int) {
      const std::size_t at = std::size_t(s.first);
      backend.forward(stage::Slice{first + s.first, first + s.last, s.worker}, d,
                      stage::ForwardPass<T>{x.data() + at * in, weights, r.y.data() + at * out,
                                            r.argmax.data() + at * out},
                      chain, training);
    });
  }
  const std::size_t stride = B::partial_size(c) + 64;
  host::Buffer<T> partials(3 * stride);
  backend.chunks(count, 2, [&](stage::Slice s, int chunk) {
    const std::size_t at = std::size_t(s.first);
    backend.template backward<DataGradient>(
        stage::Slice{first + s.first, first + s.last, s.worker}, d,
        stage::BackwardPass<T>{x.data() + at * in, weights, r.y.data() + at * out, r.argmax.data() + at * out,
                               dy.data() + at * out, DataGradient ? r.dx.data() + at * in : nullptr,
                               partials.data() + std::size_t(chunk) * stride, nullptr},
        chain, stage::NoBelow{}, training);
  });
  backend.gather(d, partials.data(), stride, 3, r.dw.data(), data.bias.empty() ? nullptr : r.db.data());
  return r;
}

template <class T>
std::size_t differing(const host::Buffer<T>& a, const host::Buffer<T>& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  return n;
}
template <class T>
std::size_t differing(const host::Buffer<T>& a, const Doubles& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += !(double(a[i]) == b[i]);
  return n;
}

template <class T, stage::Contraction C, class Chain>
void check(const Chain& chain, bool with_bias) {
  constexpr stage::Contraction c = stored<T>(C);
  CAPTURE(sizeof(T));
  CAPTURE(c.h);
  CAPTURE(c.w);
  CAPTURE(C.ci);
  CAPTURE(c.kh);
  CAPTURE(c.kw);
  CAPTURE(c.co);
  CAPTURE(c.stride_h);
  CAPTURE(c.pool_h);
  const Data data = make_data(c, C.ci, with_bias);
  auto expected = test::contraction(c, first, count, data.x, data.w, data.bias, data.dy, chain, training);
  const auto r = run<true, T, c>(c, data, chain, 1, false);

  // What is not an output is left alone.
  for (int s = 0; s < count; ++s)
    for (int i = -c.border_h; i < c.out_h() + c.border_h; ++i)
      for (int j = -c.border_w; j < c.out_w() + c.border_w; ++j)
        if (i < 0 || j < 0 || i >= c.out_h() || j >= c.out_w())
          for (int o = 0; o < c.cols; ++o)
            expected.y[std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o)] =
                untouched;
  CHECK(differing(r.y, expected.y) == 0);
  if (c.pooled()) {
    std::size_t wrong = 0;
    for (int s = 0; s < count; ++s)
      for (int i = 0; i < c.out_h(); ++i)
        for (int j = 0; j < c.out_w(); ++j)
          for (int o = 0; o < c.co; ++o) {
            const auto e =
                std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o);
            wrong += r.argmax[e] != expected.winner[e];
          }
    CHECK(wrong == 0);
  }
  CHECK(differing(r.dx, expected.dx) == 0);
  CHECK(differing(r.dw, expected.dw) == 0);
  if (with_bias) CHECK(differing(r.db, expected.db) == 0);

  // Without the data's gradient the rest is the same.
  const auto no_dx = run<false, T, c>(c, data, chain, 1, false);
  CHECK(differing(no_dx.dw, r.dw) == 0);
}

/// The bits do not depend on what the compiler knows, nor on threads; data that rounds.
template <class T, stage::Contraction C, class Chain>
void check_bits(const Chain& chain) {
  constexpr stage::Contraction c = stored<T>(C);
  constexpr stage::Contraction only_pool = [] {
    stage::Contraction few = stage::all_dyn<stage::Contraction>();
    few.pool_h = C.pool_h, few.pool_w = C.pool_w;
    return few;
  }();
  Data data = make_data(c, C.ci, true);
  for (double& v : data.x) v *= 0.1;
  for (double& v : data.w) v *= 0.3;
  for (double& v : data.dy) v *= 0.7;
  const auto a = run<true, T, c>(c, data, chain, 1, true);
  const auto equal = [&](const Result<T>& b) {
    CHECK(differing(a.y, b.y) == 0);
    CHECK(differing(a.dx, b.dx) == 0);
    CHECK(differing(a.dw, b.dw) == 0);
    CHECK(differing(a.db, b.db) == 0);
  };
  equal(run<true, T, stage::all_dyn<stage::Contraction>()>(c, data, chain, 1, true));
  equal(run<true, T, only_pool>(c, data, chain, 3, false));
  for (const int threads : {4, 16})  // 16: several for a sample
    equal(run<true, T, c>(c, data, chain, threads, true));
}

template <stage::Contraction C, class Chain = ops::Chain<>>
void check_both(const Chain& chain = {}, bool with_bias = true) {
  check<float, C>(chain, with_bias);
  check<double, C>(chain, with_bias);
}

constexpr auto relu = ops::Chain<ops::Relu>::of({});
constexpr auto relu_drop = ops::Chain<ops::Relu, ops::DropoutChannels>::of({}, {0.5, 2});
constexpr auto drop_relu = ops::Chain<ops::Dropout, ops::Relu>::of({0.5, 9}, {});

}  // namespace

//                        h   w   ci kh kw co cols stride pool border
TEST_CASE("kernels and channels") {
  check_both<stage::Contraction{6, 7, 1, 1, 1, 5, 0, 1, 1, 1, 1, 0, 0}>();
  check_both<stage::Contraction{9, 8, 3, 3, 3, 16, 0, 1, 1, 1, 1, 0, 0}>(relu);
  check_both<stage::Contraction{12, 12, 20, 5, 5, 40, 0, 1, 1, 1, 1, 2, 2}>(relu, false);
  check_both<stage::Contraction{7, 11, 32, 3, 5, 33, 0, 1, 1, 1, 1, 1, 2}>(relu_drop);
  check_both<stage::Contraction{28, 28, 1, 3, 3, 16, 0, 1, 1, 1, 1, 0, 0}>(relu);
  check_both<stage::Contraction{5, 4, 16, 5, 4, 10, 0, 1, 1, 1, 1, 0, 0}>(drop_relu);
}

TEST_CASE("strides") {
  check_both<stage::Contraction{11, 12, 3, 3, 3, 8, 0, 2, 2, 1, 1, 0, 0}>(relu);
  check_both<stage::Contraction{11, 12, 16, 3, 2, 20, 0, 2, 1, 1, 1, 1, 0}>(relu_drop, false);
  check_both<stage::Contraction{9, 9, 17, 1, 1, 32, 0, 2, 2, 1, 1, 0, 0}>();
}

TEST_CASE("pools") {
  check_both<stage::Contraction{26, 26, 16, 3, 3, 32, 0, 1, 1, 2, 2, 0, 0}>(relu_drop);
  check_both<stage::Contraction{20, 20, 3, 5, 5, 32, 0, 1, 1, 2, 2, 2, 2}>(ops::Chain<>{});
  check_both<stage::Contraction{13, 15, 8, 3, 3, 12, 0, 1, 1, 3, 3, 0, 0}>(
      relu,
      false);  // rows and columns left over
  check_both<stage::Contraction{12, 9, 1, 3, 3, 6, 0, 1, 1, 2, 3, 1, 1}>(relu);
  check_both<stage::Contraction{14, 15, 20, 5, 5, 18, 0, 2, 1, 2, 2, 0, 0}>(drop_relu);
  check_both<stage::Contraction{6, 6, 16, 3, 3, 16, 0, 1, 1, 4, 4, 0, 0}>(relu);  // the whole plane
}

TEST_CASE("the same bits for sizes known or not, and for any number of threads") {
  check_bits<float, stage::Contraction{26, 26, 16, 3, 3, 32, 0, 1, 1, 2, 2, 0, 0}>(relu_drop);
  check_bits<double, stage::Contraction{26, 26, 16, 3, 3, 32, 0, 1, 1, 2, 2, 0, 0}>(relu_drop);
  check_bits<float, stage::Contraction{12, 12, 32, 5, 5, 20, 0, 1, 1, 1, 1, 1, 1}>(relu);
  check_bits<double, stage::Contraction{12, 13, 3, 5, 3, 20, 0, 2, 1, 1, 1, 1, 1}>(drop_relu);
  check_bits<float, stage::Contraction{20, 20, 32, 5, 5, 32, 0, 1, 1, 2, 2, 0, 0}>(ops::Chain<>{});
  check_bits<float, stage::Contraction{20, 20, 3, 5, 5, 32, 0, 1, 1, 2, 2, 0, 0}>(ops::Chain<>{});
  check_bits<float, stage::Contraction{12, 12, 16, 5, 5, 16, 0, 1, 1, 2, 2, 0, 0}>(relu);  // one band of rows
}

TEST_CASE("NaN goes through a pool") {
  constexpr stage::Contraction c = stored<float>({6, 6, 1, 1, 1, 1, 0, 1, 1, 2, 2, 0, 0});
  Data data = make_data(c, 1, false);
  data.w[0] = 1;
  data.x[8] = std::numeric_limits<double>::quiet_NaN();  // row 1, column 2: window (0, 1), index 2
  const auto r = run<true, float, c>(c, data, relu, 1, false);
  CHECK(std::isnan(r.y[std::size_t(c.cols)]));
  CHECK(r.argmax[std::size_t(c.cols)] == 2);
  CHECK(r.y[std::size_t(c.cols) + 1] == 0);  // padding stays 0
  CHECK(!std::isnan(r.y[0]));
}
