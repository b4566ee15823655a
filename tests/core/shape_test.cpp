#include "kern/core/shape.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace kern;

TEST_CASE("a shape knows its extents") {
  static_assert(Shape<64, 1, 28, 28>::rank == 4);
  static_assert(Shape<64, 1, 28, 28>::extents == std::array{64, 1, 28, 28});
  static_assert(Shape<64, 1, 28, 28>::is_static);
  static_assert(!(Shape<dyn, 1, 28, 28>::is_static));
  static_assert(!(Shape<1, dyn>::is_static));
  static_assert(Shape<>::rank == 0);
  static_assert(Shape<>::is_static);
  static_assert(Shape<0>::is_static);
}

// The right-hand sides are what Python prints for tuple(tensor.shape).
TEST_CASE("shape_string prints as Python does") {
  CHECK(shape_string(Shape<64, 1, 28, 28>::extents) == "(64, 1, 28, 28)");
  CHECK(shape_string(Shape<3>::extents) == "(3,)");
  CHECK(shape_string(Shape<>::extents) == "()");
  CHECK(shape_string(std::vector<std::int64_t>{5, 1'000'000'000'000}) == "(5, 1000000000000)");
  CHECK(shape_string(Shape<dyn, 10>::extents) == "(dyn, 10)");
}

TEST_CASE("a size is one number or two") {
  static_assert(detail::size2(3) == Size2{3, 3});
  static_assert(detail::size2(Size2{3, 5}) == Size2{3, 5});
  static_assert(!(Size2{3, 5} == Size2{5, 3}));
}
