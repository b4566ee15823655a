#include "kern/tensor/view.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace kern;

namespace {
std::vector<int> counted(int n) {
  std::vector<int> v(std::size_t(n), 0);
  std::iota(v.begin(), v.end(), 0);
  return v;
}
template <class V>
std::vector<int> extents(const V& v) {
  return {v.shape().begin(), v.shape().end()};
}
}  // namespace

// What converts, and how: known extents to dyn ones and T to const T silently, dyn to known when asked for.
static_assert(std::is_convertible_v<TensorView<int, Shape<2, 3>>, TensorView<int, Shape<dyn, 3>>>);
static_assert(std::is_convertible_v<TensorView<int, Shape<2, 3>>, TensorView<const int, Shape<dyn, dyn>>>);
static_assert(!std::is_convertible_v<TensorView<int, Shape<dyn, 3>>, TensorView<int, Shape<2, 3>>>);
static_assert(std::is_constructible_v<TensorView<int, Shape<2, 3>>, TensorView<int, Shape<dyn, 3>>>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<2, 3>>, TensorView<int, Shape<dyn, 4>>>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<2, 3>>, TensorView<int, Shape<3, 2>>>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<dyn>>, TensorView<int, Shape<dyn, dyn>>>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<3>>, TensorView<const int, Shape<3>>>);
static_assert(!std::is_constructible_v<TensorView<double, Shape<3>>, TensorView<float, Shape<3>>>);
// As many extents as there are dyn ones; whole numbers; as many indices as dimensions.
static_assert(std::is_constructible_v<TensorView<int, Shape<dyn, 3>>, int*, std::size_t>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<dyn, 3>>, int*>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<dyn, 3>>, int*, int, int>);
static_assert(!std::is_constructible_v<TensorView<int, Shape<dyn, 3>>, int*, double>);
static_assert(std::is_invocable_v<TensorView<int, Shape<dyn, 3>>, int, std::size_t>);
static_assert(!std::is_invocable_v<TensorView<int, Shape<dyn, 3>>, int>);
static_assert(!std::is_invocable_v<TensorView<int, Shape<dyn, 3>>, int, double>);
// A view is passed in registers or copied by memcpy.
static_assert(std::is_trivially_copyable_v<TensorView<float, Shape<dyn, 1, 28, 28>>>);

TEST_CASE("extents come from the type, or in order from the arguments") {
  auto v = counted(24);
  const TensorView<int, Shape<dyn, 3, dyn>> t(v.data(), 2, std::size_t(4));
  CHECK(extents(t) == std::vector<int>{2, 3, 4});
  CHECK(t.extent(2) == 4);
  CHECK(t.size() == 24);
  CHECK(t.data() == v.data());
  CHECK(t.end() - t.begin() == 24);
  const TensorView<const int, Shape<4, 6>> known(v.data());
  CHECK(extents(known) == std::vector<int>{4, 6});
  const TensorView<int, Shape<>> scalar(v.data() + 5);
  CHECK(scalar.size() == 1);
  CHECK(scalar() == 5);
}

TEST_CASE("extents that no tensor can have are refused with the number") {
  using V = TensorView<const int, Shape<dyn, 3>>;
  CHECK_THROWS_WITH_AS(V(nullptr, -1), "extent of a tensor: expected 0 to 2147483647, got -1", ArgumentError);
  CHECK_THROWS_WITH_AS(V(nullptr, 1L << 31), "extent of a tensor: expected 0 to 2147483647, got 2147483648",
                       ArgumentError);
  using Huge = TensorView<const int, Shape<dyn, dyn, dyn>>;
  constexpr int most = 2147483647;
  CHECK_THROWS_WITH_AS(Huge(nullptr, 1 << 30, 1 << 30, 16),  // 2^64 elements
                       "a tensor of shape (1073741824, 1073741824, 16) has too many elements", ArgumentError);
  CHECK_THROWS_AS(Huge(nullptr, most, most, 1), ArgumentError);
  CHECK(Huge(nullptr, most, most, 0).size() == 0);
}

TEST_CASE("elements are row-major") {
  auto v = counted(24);
  const TensorView<int, Shape<2, dyn, 4>> t(v.data(), 3);
  int n = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) CHECK(t(i, j, k) == n++);
  t(1, 2, 3) = -1;
  CHECK(v[23] == -1);
  CHECK(t.at(1, 2, 3) == -1);
}

TEST_CASE("an index outside its extent is named, with the extent") {
  auto v = counted(6);
  const TensorView<int, Shape<2, dyn>> t(v.data(), 3);
  CHECK_THROWS_WITH_AS(t.at(0, 3),
                       "index 3 is out of range for dimension 1 with extent 3 of a tensor of shape (2, 3)",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(t.at(-1, 0),
                       "index -1 is out of range for dimension 0 with extent 2 of a tensor of shape (2, 3)",
                       ArgumentError);
  CHECK_THROWS_AS(t.at(0, ~std::size_t(0)), ArgumentError);
  CHECK_THROWS_WITH_AS(t[2],
                       "index 2 is out of range for dimension 0 with extent 2 of a tensor of shape (2, 3)",
                       ArgumentError);
  CHECK_THROWS_AS(t[-1], ArgumentError);
#ifndef NDEBUG
  CHECK_THROWS_AS(t(2, 0), ArgumentError);
  CHECK_THROWS_AS(t(0, -1), ArgumentError);
#endif
}

TEST_CASE("a part along the first dimension is a view of the others") {
  auto v = counted(24);
  const TensorView<int, Shape<dyn, 3, 4>> t(v.data(), 2);
  const TensorView<int, Shape<3, 4>> part = t[1];
  CHECK(part.data() == v.data() + 12);
  const TensorView<int, Shape<4>> row = t[1][2];
  CHECK(row(0) == 20);
  CHECK(extents(row) == std::vector<int>{4});
  static_assert(std::is_same_v<decltype(row[3]), int&>);
  CHECK(t[1][2][3] == 23);
  t[1][2][3] = -23;
  CHECK(v[23] == -23);
#ifndef NDEBUG
  CHECK_THROWS_WITH_AS(row[4],
                       "index 4 is out of range for dimension 0 with extent 4 of a tensor of shape (4,)",
                       ArgumentError);
#endif
  const TensorView<int, Shape<3, dyn>> open(v.data(), 8);
  static_assert(std::is_same_v<decltype(open[0]), TensorView<int, Shape<dyn>>>);
  CHECK(open[2].size() == 8);
}

TEST_CASE("converting to a known extent is checked") {
  auto v = counted(6);
  const TensorView<int, Shape<dyn, dyn>> t(v.data(), 2, 3);
  const TensorView<const int, Shape<2, 3>> known(t);
  CHECK(known.data() == v.data());
  CHECK_THROWS_WITH_AS((TensorView<const int, Shape<2, 4>>(t)), "expected shape (2, 4), got (2, 3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS((TensorView<const int, Shape<dyn, 4>>(t)), "expected shape (dyn, 4), got (2, 3)",
                       ShapeError);
  const TensorView<const int, Shape<dyn, dyn>> back = known;
  CHECK(extents(back) == std::vector<int>{2, 3});
}

TEST_CASE("reshape keeps the elements") {
  auto v = counted(24);
  const TensorView<int, Shape<2, 12>> t(v.data());
  const auto a = t.reshape<Shape<dyn, 6>>(4);
  CHECK(a.data() == v.data());
  CHECK(a(3, 5) == 23);
  CHECK(extents(t.reshape<Shape<dyn, 8>>()) == std::vector<int>{3, 8});
  CHECK(extents(t.reshape<Shape<24>>()) == std::vector<int>{24});
  CHECK(extents(t.reshape<Shape<dyn, dyn>>(6, 4)) == std::vector<int>{6, 4});
  CHECK_THROWS_WITH_AS((t.reshape<Shape<dyn, 5>>(5)),
                       "reshape: a tensor of shape (2, 12) with 24 elements can't have shape (5, 5)",
                       ShapeError);
  CHECK_THROWS_WITH_AS((t.reshape<Shape<dyn, 7>>()),
                       "reshape: a tensor of shape (2, 12) with 24 elements can't have shape (dyn, 7)",
                       ShapeError);
  CHECK_THROWS_AS((t.reshape<Shape<dyn, 0>>()), ShapeError);
  const TensorView<int, Shape<dyn>> some(v.data(), 24);
  CHECK_THROWS_AS(some.reshape<Shape<25>>(), ShapeError);
}

TEST_CASE("copying needs equal shapes, and changes nothing without them") {
  auto v = counted(6);
  const TensorView<const int, Shape<2, 3>> from(v.data());
  std::vector<double> w(6, -1);
  const TensorView<double, Shape<dyn, 3>> to(w.data(), 2);
  to.copy_from(from);
  CHECK(w == std::vector<double>{0, 1, 2, 3, 4, 5});

  std::vector<int> x(9, -1);
  const TensorView<int, Shape<dyn, 3>> longer(x.data(), 3);
  CHECK_THROWS_WITH_AS(longer.copy_from(from), "copy_from: expected shape (3, 3), got (2, 3)", ShapeError);
  CHECK(x == std::vector<int>(9, -1));

  // Overlapping parts of one memory, in both directions.
  const TensorView<int, Shape<5>> low(v.data()), high(v.data() + 1);
  high.copy_from(low);
  CHECK(v == std::vector<int>{0, 0, 1, 2, 3, 4});
  low.copy_from(high);
  CHECK(v == std::vector<int>{0, 1, 2, 3, 4, 4});
  TensorView<int, Shape<dyn>>(nullptr, 0).copy_from(TensorView<const int, Shape<dyn>>(nullptr, 0));
}

TEST_CASE("fill, and loops over the elements") {
  std::vector<std::uint8_t> v(6, 1);
  const TensorView<std::uint8_t, Shape<2, 2>> t(v.data() + 1);
  t.fill(7);
  CHECK(v == std::vector<std::uint8_t>{1, 7, 7, 7, 7, 1});
  int sum = 0;
  for (std::uint8_t e : t) sum += e;
  CHECK(sum == 28);
}
