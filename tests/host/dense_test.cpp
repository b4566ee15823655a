#include <doctest/doctest.h>

#include <cstring>
#include <kern/host/backend.hpp>
#include <kern/ops/chain.hpp>
#include <kern/ops/dropout.hpp>
#include <kern/ops/relu.hpp>
#include <string>

#include "support/reference.hpp"

using namespace kern;
using test::Doubles;

namespace {

constexpr int first = 0;  // a dense stage takes the batch whole
constexpr ops::Draw training{Seed{11}, 4, true};

template <class T>
host::Buffer<T> buffer(const Doubles& v) {
  host::Buffer<T> b(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) b[i] = T(v[i]);
  return b;
}

template <class T>
struct Result {
  host::Buffer<T> y, dx, dw, db;
};

struct Data {
  Doubles x, w, bias, dy;
};

Data make_data(const stage::Dense& d, int n, bool with_bias, double scale = 1) {
  test::Integers next(2);
  Data r{Doubles(std::size_t(n * d.k)), Doubles(std::size_t(d.weight_size())),
         Doubles(with_bias ? std::size_t(d.cols) : 0), Doubles(std::size_t(n * d.cols))};
  for (double& v : r.x) v = scale * next(3);
  for (std::size_t i = 0; i < r.w.size(); ++i)
    r.w[i] = int(i % std::size_t(d.cols)) < d.co ? scale * next(2) : 0;
  for (int o = 0; o < (with_bias ? d.co : 0); ++o) r.bias[std::size_t(o)] = scale * next(4);
  for (std::size_t i = 0; i < r.dy.size(); ++i)
    r.dy[i] = int(i % std::size_t(d.cols)) < d.co ? scale * next(3) : 0;
  return r;
}

template <bool DataGradient, class T, auto V, class Chain>
Result<T> run(const stage::Dense& c, int n, const Data& data, const Chain& chain, int threads) {
  using B = host::Backend<T>;
  const stage::Known<V> d(c);
  B backend(threads);
  backend.reserve(B::scratch_size(c, n));
  const auto x = buffer<T>(data.x), w = buffer<T>(data.w), bias = buffer<T>(data.bias);
  auto dy = buffer<T>(data.dy);
  host::Buffer<T> forward(B::forward_size(c)), backward(B::backward_size(c));
  backend.prepare_forward(d, w.data(), forward.data());
  backend.prepare_backward(d, w.data(), backward.data());
  const stage::Weights<T> weights{w.data(), data.bias.empty() ? nullptr : bias.data(), forward.data(),
                                  backward.data()};
  Result<T> r{host::Buffer<T>(std::size_t(n * c.cols)), host::Buffer<T>(std::size_t(n * c.k)),
              host::Buffer<T>(std::size_t(c.weight_size())), host::Buffer<T>(std::size_t(c.cols))};
  const stage::Slice whole{first, first + n, stage::Slice::whole};
  backend.forward(whole, d, stage::ForwardPass<T>{x.data(), weights, r.y.data(), nullptr}, chain, training);
  backend.template backward<DataGradient>(
      whole, d,
      stage::BackwardPass<T>{x.data(), weights, r.y.data(), nullptr, dy.data(),
                             DataGradient ? r.dx.data() : nullptr, r.dw.data(),
                             data.bias.empty() ? nullptr : r.db.data()},
      chain, stage::NoBelow{}, training);
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

template <class T, class Chain>
void check(int k, int co, int n, const Chain& chain, bool with_bias) {
  const stage::Dense c{k, co, math::round_up(co, simd::lanes<T>)};
  CAPTURE(sizeof(T));
  CAPTURE(k);
  CAPTURE(co);
  CAPTURE(n);
  const Data data = make_data(c, n, with_bias);
  const auto expected = test::dense(c, first, n, data.x, data.w, data.bias, data.dy, chain, training);
  const auto r = run<true, T, stage::all_dyn<stage::Dense>()>(c, n, data, chain, 1);
  CHECK(differing(r.y, expected.y) == 0);
  CHECK(differing(r.dx, expected.dx) == 0);
  CHECK(differing(r.dw, expected.dw) == 0);
  if (with_bias) CHECK(differing(r.db, expected.db) == 0);
  CHECK(differing(run<false, T, stage::all_dyn<stage::Dense>()>(c, n, data, chain, 1).dw, r.dw) == 0);
}

constexpr auto relu_drop = ops::Chain<ops::Relu, ops::Dropout>::of({}, {0.5, 2});

}  // namespace

TEST_CASE_TEMPLATE("sizes and batches", T, float, double) {
  for (int n : {1, 2, 3, 4, 5, 7, 8, 13, 64, 70}) check<T>(96, 40, n, relu_drop, true);
  for (int n : {1, 6, 9}) {
    check<T>(48, 10, n, ops::Chain<>{}, true);
    check<T>(500, 130, n, ops::Chain<ops::Relu>{}, false);  // more than a block of k
    check<T>(75, 1, n, ops::Chain<>{}, true);               // inputs that are not padded
    check<T>(1, 33, n, ops::Chain<>{}, true);
  }
}

TEST_CASE_TEMPLATE("the same bits for sizes known or not, and for any number of threads", T, float, double) {
  constexpr stage::Dense c{400, 130, math::round_up(130, simd::lanes<T>)};
  for (int n : {1, 3, 70}) {
    const Data data = make_data(c, n, true, 0.1);
    const auto a = run<true, T, c>(c, n, data, relu_drop, 1);
    const auto b = run<true, T, stage::all_dyn<stage::Dense>()>(c, n, data, relu_drop, 3);
    CHECK(differing(a.y, b.y) == 0);
    CHECK(differing(a.dx, b.dx) == 0);
    CHECK(differing(a.dw, b.dw) == 0);
    CHECK(differing(a.db, b.db) == 0);
  }
}

TEST_CASE_TEMPLATE("a sample's output does not depend on its batch", T, float, double) {
  constexpr stage::Dense c{400, 130, math::round_up(130, simd::lanes<T>)};
  const Data data = make_data(c, 70, true, 0.1);
  const auto all = run<false, T, c>(c, 70, data, ops::Chain<ops::Relu>{}, 1);
  for (int n : {1, 2, 3, 5, 9}) {
    const auto some = run<false, T, c>(c, n, data, ops::Chain<ops::Relu>{}, 1);
    CHECK(std::memcmp(some.y.data(), all.y.data(), some.y.size() * sizeof(T)) == 0);
  }
}
