#include "kern/tensor/tensor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace kern;

namespace {
template <class T, class S>
std::vector<T> elements(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}
template <class T>
std::vector<int> extents(const T& t) {
  return {t.shape().begin(), t.shape().end()};
}
double sum(TensorView<const float, Shape<dyn, 3>> v) {
  double s = 0;
  for (float e : v) s += double(e);
  return s;
}
}  // namespace

static_assert(!std::is_copy_constructible_v<Tensor<float, Shape<2>>>);
static_assert(!std::is_copy_assignable_v<Tensor<float, Shape<2>>>);
static_assert(std::is_nothrow_move_constructible_v<Tensor<float, Shape<2>>>);
static_assert(std::is_nothrow_move_assignable_v<Tensor<float, Shape<dyn>>>);
// To views: as between views, and const tensors to const views only.
static_assert(std::is_convertible_v<Tensor<float, Shape<2, 3>>&, TensorView<float, Shape<dyn, 3>>>);
static_assert(std::is_convertible_v<const Tensor<float, Shape<2, 3>>&, TensorView<const float, Shape<2, 3>>>);
static_assert(!std::is_constructible_v<TensorView<float, Shape<2, 3>>, const Tensor<float, Shape<2, 3>>&>);
static_assert(!std::is_convertible_v<Tensor<float, Shape<dyn, 3>>&, TensorView<float, Shape<2, 3>>>);
static_assert(std::is_constructible_v<TensorView<float, Shape<2, 3>>, Tensor<float, Shape<dyn, 3>>&>);
static_assert(!std::is_constructible_v<TensorView<float, Shape<2, 3>>, Tensor<float, Shape<dyn, 4>>&>);
static_assert(!std::is_constructible_v<TensorView<double, Shape<2>>, Tensor<float, Shape<2>>&>);
// As many extents as there are dyn ones, and never by accident.
static_assert(std::is_constructible_v<Tensor<float, Shape<dyn, 3>>, int>);
static_assert(!std::is_convertible_v<int, Tensor<float, Shape<dyn, 3>>>);
static_assert(!std::is_constructible_v<Tensor<float, Shape<2, 3>>, int>);

TEST_CASE_TEMPLATE("a new tensor holds zeros, on the heap, aligned to 64 bytes", T, float, double, bool,
                   std::int8_t, std::uint8_t, std::int16_t, std::int32_t, std::int64_t, std::uint64_t) {
  const Tensor<T, Shape<dyn, 3>> t(5);
  CHECK(t.size() == 15);
  CHECK(extents(t) == std::vector<int>{5, 3});
  CHECK(elements(t) == std::vector<T>(15, T(0)));
  CHECK(reinterpret_cast<std::uintptr_t>(t.data()) % 64 == 0);
  CHECK(elements(Tensor<T, Shape<2>>::ones()) == std::vector<T>(2, T(1)));
  CHECK(elements(Tensor<T, Shape<dyn>>::zeros(2)) == std::vector<T>(2, T(0)));
  static_assert(sizeof(Tensor<T, Shape<1000, 1000>>) <= 64);
}

TEST_CASE("dyn extents go to their places in order") {
  CHECK(extents(Tensor<float, Shape<dyn, 3, dyn>>(2, 4L)) == std::vector<int>{2, 3, 4});
  CHECK(extents(Tensor<float, Shape<2, 3>>()) == std::vector<int>{2, 3});
  CHECK(Tensor<float, Shape<>>().size() == 1);
  CHECK(Tensor<float, Shape<dyn, 3>>(0).size() == 0);
  CHECK(elements(Tensor<int, Shape<2, dyn>>::full(7, 2)) == std::vector<int>{7, 7, 7, 7});
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<dyn, 3>>(-2)),
                       "extent of a tensor: expected 0 to 2147483647, got -2", ArgumentError);
  CHECK_THROWS_AS((Tensor<double, Shape<dyn, dyn>>::zeros(1 << 30, 1 << 30)), ArgumentError);
}

TEST_CASE("without extents, dyn ones are 0") {
  Tensor<float, Shape<dyn, 3>> t;
  CHECK(extents(t) == std::vector<int>{0, 3});
  CHECK(t.size() == 0);
  t = Tensor<float, Shape<dyn, 3>>::ones(2);
  CHECK(extents(t) == std::vector<int>{2, 3});
  CHECK(extents(Tensor<int, Shape<dyn>>{}) == std::vector<int>{0});
  CHECK(extents(Tensor<int, Shape<dyn, dyn>>{}) == std::vector<int>{0, 0});
  CHECK(std::vector<Tensor<float, Shape<dyn>>>(3)[2].size() == 0);
}

TEST_CASE("from values, flat") {
  CHECK(elements(Tensor<float, Shape<2, 3>>{1, 2, 3, 4, 5, 6}) == std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor<double, Shape<dyn, 2>> t{1, 2, 3, 4, 5, 6};
  CHECK(extents(t) == std::vector<int>{3, 2});
  CHECK(Tensor<double, Shape<>>{2.5}() == 2.5);
  CHECK(extents(Tensor<int, Shape<dyn>>{9}) == std::vector<int>{1});
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<2, 3>>{1, 2, 3, 4, 5}),
                       "a tensor of shape (2, 3): expected 6 values, got 5", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<2, 3>>{1, 2, 3, 4, 5, 6, 7}),
                       "a tensor of shape (2, 3): expected 6 values, got 7", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<dyn, 3>>{1, 2, 3, 4}),
                       "a tensor of shape (dyn, 3): expected a multiple of 3 values, got 4", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<dyn, 0>>{1}),
                       "a tensor of shape (dyn, 0): expected 0 values, got 1", ShapeError);
  CHECK_THROWS_AS((Tensor<double, Shape<>>{1, 2}), ShapeError);
}

TEST_CASE("from values, nested") {
  const Tensor<float, Shape<dyn, dyn>> t{{1, 2, 3}, {4, 5, 6}};
  CHECK(extents(t) == std::vector<int>{2, 3});
  CHECK(elements(t) == std::vector<float>{1, 2, 3, 4, 5, 6});
  // Braces around one value could be a value or a row: they are a row.
  CHECK(elements(Tensor<int, Shape<2, 1>>{{1}, {2}}) == std::vector<int>{1, 2});
  CHECK(elements(Tensor<int, Shape<1, 1>>{{4}}) == std::vector<int>{4});
  const Tensor<int, Shape<2, dyn, 2>> cube{{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  CHECK(extents(cube) == std::vector<int>{2, 3, 2});
  CHECK(cube(1, 2, 0) == 11);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<2, 3>>{{1, 2, 3}, {4, 5}}),
                       "values of a tensor, dimension 1: expected 3 as in the first braces, got 2",
                       ShapeError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<2, 3>>{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}),
                       "expected shape (2, 3), got (3, 3)", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<2, dyn, 2>>{{{1, 2}, {3, 4}}, {{5, 6}, {7}}}),
                       "values of a tensor, dimension 2: expected 2 as in the first braces, got 1",
                       ShapeError);
}

TEST_CASE("from values in memory") {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto t = Tensor<float, Shape<2, 3>>::from(values);
  CHECK(t(1, 0) == 4);
  CHECK(t.data() != values.data());
  CHECK(extents(Tensor<float, Shape<dyn, 2>>::from(values)) == std::vector<int>{3, 2});
  CHECK(extents(Tensor<float, Shape<dyn, dyn>>::from(values, 1, 6)) == std::vector<int>{1, 6});
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<dyn, dyn>>::from(values, 2, 2)),
                       "a tensor of shape (2, 2): expected 4 values, got 6", ShapeError);
}

// The expected values and refusals are those of torch.arange.
TEST_CASE("arange counts as PyTorch does") {
  using D = Tensor<double, Shape<dyn>>;
  CHECK(elements(D::arange(1, 2.5, 0.5)) == std::vector<double>{1, 1.5, 2});
  CHECK(elements(D::arange(2.5, -1, -0.75)) == std::vector<double>{2.5, 1.75, 1, 0.25, -0.5});
  CHECK(D::arange(0, 1, 0.1).size() == 10);
  CHECK(D::arange(0, 0.3, 0.1).size() == 3);
  CHECK(D::arange(0.1, 0.35, 0.05).size() == 5);
  CHECK(D::arange(3, 3, -1).size() == 0);
  using F = Tensor<float, Shape<dyn>>;
  CHECK(elements(F::arange(0, 0.3, 0.1)) == std::vector<float>{0.0f, 0.1f, 0.2f});
  using I = Tensor<std::int64_t, Shape<dyn>>;
  CHECK(elements(I::arange(4)) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(elements(I::arange(2, 11, 3)) == std::vector<std::int64_t>{2, 5, 8});
  CHECK(elements(I::arange(5, 0, -2)) == std::vector<std::int64_t>{5, 3, 1});
  CHECK(elements(I::arange(-3, 4, 3)) == std::vector<std::int64_t>{-3, 0, 3});
  CHECK(I::arange(4, 4).size() == 0);
  constexpr std::int64_t most = INT64_MAX, least = INT64_MIN;
  CHECK(elements(I::arange(most - 4, most, 2)) == std::vector<std::int64_t>{most - 4, most - 2});
  CHECK(elements(I::arange(least, most, std::int64_t{1} << 62)) ==
        std::vector<std::int64_t>{least, least / 2, 0, -(least / 2)});
  CHECK(elements(I::arange(most, least, least)) == std::vector<std::int64_t>{most, -1});
  CHECK(elements(Tensor<std::uint8_t, Shape<3>>::arange(250, 256, 2)) ==
        std::vector<std::uint8_t>{250, 252, 254});
}

TEST_CASE("arange refuses what leads nowhere") {
  using D = Tensor<double, Shape<dyn>>;
  using I = Tensor<std::int32_t, Shape<dyn>>;
  CHECK_THROWS_WITH_AS(D::arange(0, 10, 0),
                       "arange: from 0 to 10 in steps of 0: expected a step that is not zero", ArgumentError);
  CHECK_THROWS_WITH_AS(I::arange(0, 10, -1),
                       "arange: from 0 to 10 in steps of -1: expected finite bounds and a step that leads "
                       "from one to the other",
                       ArgumentError);
  CHECK_THROWS_AS(D::arange(10, 0), ArgumentError);
  CHECK_THROWS_AS(D::arange(0, INFINITY), ArgumentError);
  CHECK_THROWS_AS(D::arange(NAN, 1), ArgumentError);
  CHECK_THROWS_AS(D::arange(0, 1, NAN), ArgumentError);
  CHECK_THROWS_WITH_AS(D::arange(0, 1e300),
                       "arange: from 0 to 1e+300 in steps of 1: expected at most 2147483647 values",
                       ArgumentError);
  CHECK_THROWS_AS(I::arange(0, std::int64_t{1} << 31), ArgumentError);
  CHECK_THROWS_WITH_AS((Tensor<std::uint8_t, Shape<dyn>>::arange(100, 400, 100)),
                       "arange: expected values from 0 to 255, got 300", ArgumentError);
  CHECK_THROWS_WITH_AS((Tensor<std::int8_t, Shape<dyn>>::arange(0, -201, -100)),
                       "arange: expected values from -128 to 127, got -200", ArgumentError);
  CHECK_THROWS_AS((Tensor<std::uint64_t, Shape<dyn>>::arange(-1, 1)), ArgumentError);
  CHECK_THROWS_WITH_AS((Tensor<float, Shape<4>>::arange(3)), "expected shape (4,), got (3,)", ShapeError);
}

TEST_CASE("moving takes the elements along") {
  auto a = Tensor<float, Shape<dyn>>::full(3, 5);
  const float* data = a.data();
  auto b = std::move(a);
  CHECK(b.data() == data);
  CHECK(b.size() == 5);
  Tensor<float, Shape<dyn>> c(2);
  c = std::move(b);
  CHECK(c.data() == data);
  CHECK(c.size() == 5);
  b = Tensor<float, Shape<dyn>>{1, 2};
  CHECK(elements(b) == std::vector<float>{1, 2});
  std::vector<Tensor<float, Shape<2>>> many;
  for (int i = 0; i < 9; ++i) many.push_back(Tensor<float, Shape<2>>::full(float(i)));
  CHECK(many[8](1) == 8);
}

TEST_CASE("a clone is a copy of its own") {
  Tensor<int, Shape<dyn, 2>> a{1, 2, 3, 4};
  const auto b = a.clone();
  a(0, 0) = 9;
  CHECK(elements(b) == std::vector<int>{1, 2, 3, 4});
  CHECK(extents(b) == std::vector<int>{2, 2});
}

TEST_CASE("a tensor passes as a view") {
  Tensor<float, Shape<2, 3>> a{1, 2, 3, 4, 5, 6};
  const Tensor<float, Shape<dyn, dyn>> b{{1, 2, 3}};
  CHECK(sum(a) == 21);
  CHECK(sum(TensorView<const float, Shape<dyn, 3>>(b)) == 6);
  CHECK_THROWS_WITH_AS((TensorView<const float, Shape<dyn, 2>>(b)), "expected shape (dyn, 2), got (1, 3)",
                       ShapeError);
  TensorView<float, Shape<dyn, dyn>> v = a;
  v(1, 1) = -5;
  CHECK(a(1, 1) == -5);
}

TEST_CASE("elements, parts and other shapes, read and written") {
  Tensor<int, Shape<2, 3>> a{1, 2, 3, 4, 5, 6};
  const auto& c = a;
  a(0, 1) = 20;
  a.at(1, 2) = 60;
  a[1](0) = 40;
  a.reshape<Shape<6>>()(0) = 10;
  CHECK(elements(a) == std::vector<int>{10, 20, 3, 40, 5, 60});
  CHECK(c.at(1, 2) == 60);
  CHECK(c(0, 0) == 10);
  CHECK(c.extent(1) == 3);
  static_assert(std::is_same_v<decltype(c[0]), TensorView<const int, Shape<3>>>);
  static_assert(std::is_same_v<decltype(c.reshape<Shape<dyn>>()), TensorView<const int, Shape<dyn>>>);
  CHECK_THROWS_WITH_AS(c.extent(2), "dimension 2 of a tensor of shape (2, 3): expected 0 to 1",
                       ArgumentError);
  CHECK_THROWS_AS(a.extent(-1), ArgumentError);
  CHECK_THROWS_WITH_AS(a.at(2, 0),
                       "index 2 is out of range for dimension 0 with extent 2 of a tensor of shape (2, 3)",
                       ArgumentError);
#ifndef NDEBUG
  CHECK_THROWS_AS(a(0, 3), ArgumentError);
  CHECK_THROWS_AS(c(0, 3), ArgumentError);
#endif
  for (int& e : a) e = 1;
  a.fill(2);
  CHECK(elements(a) == std::vector<int>(6, 2));
}

TEST_CASE("copying between tensors and views of equal shape") {
  const Tensor<int, Shape<2, 2>> a{1, 2, 3, 4};
  Tensor<float, Shape<dyn, 2>> b(2);
  b.copy_from(a);
  CHECK(elements(b) == std::vector<float>{1, 2, 3, 4});
  b.copy_from(Tensor<float, Shape<2, 2>>{5, 6, 7, 8}.view());
  CHECK(b(1, 1) == 8);
  Tensor<float, Shape<dyn, 2>> c(3);
  CHECK_THROWS_WITH_AS(c.copy_from(a), "copy_from: expected shape (3, 2), got (2, 2)", ShapeError);
  CHECK(elements(c) == std::vector<float>(6, 0));
  const auto d = Tensor<double, Shape<2, 2>>::copy_of(b.view());
  CHECK(elements(d) == std::vector<double>{5, 6, 7, 8});
  CHECK_THROWS_WITH_AS((Tensor<double, Shape<3, 2>>::copy_of(b.view())), "expected shape (3, 2), got (2, 2)",
                       ShapeError);
}

TEST_CASE("a view's elements become a tensor of their own") {
  Tensor<int, Shape<2, 3>> a{1, 2, 3, 4, 5, 6};
  auto row = a[1].clone();
  static_assert(std::is_same_v<decltype(row), Tensor<int, Shape<3>>>);
  static_assert(std::is_same_v<decltype(std::as_const(a)[1].clone()), Tensor<int, Shape<3>>>);
  a(1, 0) = 40;
  CHECK(elements(row) == std::vector<int>{4, 5, 6});
  a[0].copy_from(row);
  CHECK(elements(a) == std::vector<int>{4, 5, 6, 40, 5, 6});
  CHECK(elements(Tensor<double, Shape<dyn>>::copy_of(row)) == std::vector<double>{4, 5, 6});
}

TEST_CASE("the only element") {
  CHECK(Tensor<float, Shape<>>{2.5f}.item() == 2.5f);
  const auto one = Tensor<int, Shape<1, dyn>>::full(7, 1);
  CHECK(one.item() == 7);
  CHECK_THROWS_WITH_AS((Tensor<int, Shape<2, 2>>()).item(),
                       "item: expected a tensor of 1 element, got one of shape (2, 2)", ArgumentError);
  CHECK_THROWS_AS((Tensor<int, Shape<dyn>>(0)).item(), ArgumentError);
}

TEST_CASE("a struct with a tensor is made from empty braces") {
  struct Layer {
    Tensor<float, Shape<2>> weight;
  };
  const Layer layer{};
  CHECK(elements(layer.weight) == std::vector<float>{0, 0});
}
