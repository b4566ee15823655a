#include "kern/cuda/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kern/cuda/stream.hpp"

using namespace kern;

namespace {

template <class T, class S>
bool equal(const Tensor<T, S, Cuda>& device, const Tensor<T, S>& host) {
  const Tensor<T, S> t = device.to(Host{});
  return t.shape() == host.shape() && std::equal(t.begin(), t.end(), host.begin());
}
template <class T>
Tensor<T, Shape<2, 3>> six() {
  return Tensor<T, Shape<2, 3>>{T(1), T(0), T(3), T(4), T(5), T(1)};
}

// What must not compile: elements are out of the host's reach.
using On = Tensor<float, Shape<2, 3>, Cuda>;
template <class T>
concept ElementsReached = requires(T t) { t(0, 0); } || requires(T t) { t.at(0, 0); } || requires(T t) {
  t.begin();
} || requires(T t) { t.data()[0]; } || requires(T t) { *t.data(); } || requires(T t) { float(t[0][0]); };
static_assert(!ElementsReached<On&> && !ElementsReached<On::View>);
static_assert(ElementsReached<Tensor<float, Shape<2, 3>>&>);
static_assert(!std::is_copy_constructible_v<On> && std::is_nothrow_move_constructible_v<On>);
// A view of one device is none of another, and shapes keep their rules.
static_assert(!std::is_constructible_v<TensorView<float, Shape<2, 3>>, On&>);
static_assert(!std::is_constructible_v<On::View, Tensor<float, Shape<2, 3>>&>);
static_assert(std::is_convertible_v<On&, TensorView<const float, Shape<dyn, 3>, Cuda>>);
static_assert(!std::is_convertible_v<const On&, TensorView<float, Shape<dyn, 3>, Cuda>>);
static_assert(!std::is_constructible_v<TensorView<float, Shape<4, 3>, Cuda>, On&>);
static_assert(!std::is_convertible_v<TensorView<float, Shape<dyn, 3>, Cuda>, On::View> &&
              std::is_constructible_v<On::View, TensorView<float, Shape<dyn, 3>, Cuda>>);

}  // namespace

TEST_CASE_TEMPLATE("there and back", T, float, double, std::uint8_t, std::int16_t, std::int64_t, bool) {
  const auto host = six<T>();
  const auto device = host.to(Cuda{0});
  static_assert(std::is_same_v<decltype(device), const Tensor<T, Shape<2, 3>, Cuda>>);
  CHECK(device.shape() == std::array<int, 2>{2, 3});
  CHECK(device.size() == 6);
  CHECK(device.device() == Cuda{});
  CHECK(equal(device, host));
  const auto back = device.to(Host{});
  static_assert(std::is_same_v<decltype(back), const Tensor<T, Shape<2, 3>>>);
  const auto again = device.to(Cuda{});
  CHECK(again.data() != device.data());
  CHECK(equal(again, host));
  CHECK(equal(host.to(Host{}).to(Cuda{}), host));
}

TEST_CASE("dyn extents, views, const and no elements at all") {
  const Tensor<float, Shape<dyn, 3>> host{1, 2, 3, 4, 5, 6};
  const TensorView<const float, Shape<dyn, 3>> view = host;
  CHECK(equal(view.to(Cuda{}), host));
  CHECK(equal(Tensor<float, Shape<dyn, 3>, Cuda>::copy_of(host), host));
  const auto known = Tensor<float, Shape<2, 3>, Cuda>::copy_of(host);
  CHECK(known.shape() == std::array<int, 2>{2, 3});
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<4, 3>, Cuda>::copy_of(host)), "expected shape (4, 3), got (2, 3)",
                       ShapeError);

  const auto none = Tensor<float, Shape<dyn, 3>>(0).to(Cuda{});
  CHECK(none.size() == 0);
  CHECK(none.to(Host{}).shape() == std::array<int, 2>{0, 3});
  const Tensor<float, Shape<>, Cuda> scalar = Tensor<float, Shape<>, Cuda>::full(3);
  CHECK(scalar.item() == 3);
  CHECK(Tensor<float, Shape<dyn, 2>, Cuda>().size() == 0);
}

TEST_CASE_TEMPLATE("zeros, ones, full and fill", T, float, double, std::uint8_t, std::int16_t, int,
                   std::int64_t, bool) {
  using On = Tensor<T, Shape<dyn, 3>, Cuda>;
  using Of = Tensor<T, Shape<dyn, 3>>;
  for (const int n : {0, 1, 5, 1000}) {
    CAPTURE(n);
    CHECK(equal(On::zeros(n), Of::zeros(n)));
    CHECK(equal(On::zeros(Cuda{}, n), Of::zeros(n)));
    CHECK(equal(On(Cuda{0}, n), Of(n)));
    CHECK(equal(On::ones(n), Of::ones(n)));
    CHECK(equal(On::full(T(77), Cuda{}, n), Of::full(T(77), n)));
    auto t = On::full(T(77), n);
    t.fill(T(0));
    CHECK(equal(t, Of::zeros(n)));
  }
  const auto minus = Tensor<double, Shape<2>, Cuda>::full(-0.0).to(Host{});
  CHECK(std::signbit(minus(1)));
}

TEST_CASE("filling one part leaves the others and the slack") {
  auto t = Tensor<float, Shape<3, 5>, Cuda>::full(1);
  t[1].fill(7);
  const auto host = t.to(Host{});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) CHECK(host(i, j) == (i == 1 ? 7 : 1));
  float slack[16];
  gpu::copy_to_host(slack, t.data().get() + 15, Cuda{}, sizeof slack);
  for (const float x : slack) CHECK(x == 0);
}

TEST_CASE("copy_from and copy_to between equal shapes") {
  const auto host = six<float>();
  Tensor<float, Shape<2, 3>, Cuda> a, b;
  a.copy_from(host);
  CHECK(equal(a, host));
  b.copy_from(a);
  CHECK(equal(b, host));
  b.copy_from(a.view());
  Tensor<float, Shape<2, 3>> back;
  b.copy_to(back);
  CHECK(std::equal(back.begin(), back.end(), host.begin()));
  back.fill(0);
  b.copy_to(back.view());
  CHECK(std::equal(back.begin(), back.end(), host.begin()));

  Tensor<float, Shape<dyn, 3>, Cuda> rows(5);
  CHECK_THROWS_WITH_AS(rows.copy_from(host), "copy_from: expected shape (5, 3), got (2, 3)", ShapeError);
  CHECK_THROWS_WITH_AS(rows.copy_from(a), "copy_from: expected shape (5, 3), got (2, 3)", ShapeError);
  CHECK_THROWS_WITH_AS(rows.copy_to(back), "copy_to: a tensor of shape (5, 3) into one of shape (2, 3)",
                       ShapeError);
  CHECK(equal(rows, Tensor<float, Shape<dyn, 3>>(5)));  // nothing was copied
}

TEST_CASE("clone is a tensor of its own") {
  auto a = six<int>().to(Cuda{});
  const auto b = a.clone(), c = a.view().clone();
  a.fill(9);
  CHECK(equal(b, six<int>()));
  CHECK(equal(c, six<int>()));
}

TEST_CASE("parts, shapes and single elements") {
  auto t = six<float>().to(Cuda{});
  CHECK(t[1][2].item() == 1);
  CHECK(t[0][2].item() == 3);
  t[1][0].fill(40);
  CHECK(t[1][0].item() == 40);
  CHECK(t[1].to(Host{})(0) == 40);
  const auto column = t.reshape<Shape<dyn, 1>>();
  CHECK(column.shape() == std::array<int, 2>{6, 1});
  CHECK(column[3].item() == 40);
  CHECK(t.reshape<Shape<3, 2>>()[1].to(Host{})(1) == 40);
  CHECK_THROWS_WITH_AS(t[2],
                       "index 2 is out of range for dimension 0 with extent 2 of a tensor of shape (2, 3)",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((t.reshape<Shape<dyn, 4>>()),
                       "reshape: a tensor of shape (2, 3) with 6 elements can't have shape (dyn, 4)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(t.item(), "item: expected a tensor of 1 element, got one of shape (2, 3)",
                       ArgumentError);
  CHECK_THROWS_AS((Tensor<float, Shape<dyn>, Cuda>(-1)), ArgumentError);
  CHECK(t.extent(1) == 3);
  CHECK_THROWS_AS(t.extent(2), ArgumentError);
}

TEST_CASE("moving takes the elements along") {
  auto a = six<float>().to(Cuda{});
  const auto p = a.data();
  Tensor<float, Shape<2, 3>, Cuda> b = std::move(a);
  CHECK(b.data() == p);
  a = six<float>().to(Cuda{});
  CHECK(equal(a, six<float>()));
  CHECK(equal(b, six<float>()));
}

TEST_CASE("what was moved from has no elements, and says so") {
  auto a = six<float>().to(Cuda{});
  const auto b = std::move(a);
  const char* const what = "a tensor of shape (2, 3) was moved from: it has no elements";
  CHECK_THROWS_WITH_AS(a.fill(3), what, ArgumentError);
  CHECK_THROWS_WITH_AS(a.clone(), what, ArgumentError);
  CHECK_THROWS_WITH_AS(a.to(Host{}), what, ArgumentError);
  CHECK(equal(b, six<float>()));
}

TEST_CASE("tensors on different streams: copies keep the order of both") {
  const gpu::Stream s, r;
  Tensor<int, Shape<dyn>, Cuda> a(s.where(), 50000), b(r.where(), 50000), c(50000);
  CHECK(a.device() == s.where());
  for (int round = 1; round <= 10; ++round) {
    a.fill(round);
    b.copy_from(a);
    a.fill(-1);  // behind the copy, also where that is still to be done
    s.synchronize();
    c.copy_from(b);
    REQUIRE(c[49999].item() == round);
    const auto d = b.to(s.where());
    REQUIRE(d[0].item() == round);
  }
  CHECK(a.clone().device() == s.where());
}

TEST_CASE("the host's elements may change as soon as they were copied, in pinned memory too") {
  gpu::PinnedBuffer<int> pinned(50000);
  const TensorView<int, Shape<dyn>> host(pinned.data(), 50000);
  const gpu::Stream s;
  host.fill(1);
  const auto t = host.to(s.where());
  host.fill(2);
  CHECK(t[49999].item() == 1);
  t.copy_to(host);  // is here when it returns
  CHECK(host[49999] == 1);
}
