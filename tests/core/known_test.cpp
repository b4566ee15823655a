#include "kern/core/known.hpp"

#include <doctest/doctest.h>

using namespace kern;

namespace {
struct Box {
  int width, height, depth;
  constexpr int volume() const { return width * height * depth; }
  friend constexpr bool operator==(const Box&, const Box&) = default;
};
using Fixed = stage::Known<Box{2, 3, 4}>;
using Part = stage::Known<Box{2, dyn, 4}>;
using Open = stage::Known<stage::all_dyn<Box>()>;
}  // namespace

TEST_CASE("all_known looks at every field") {
  static_assert(stage::all_known(Box{1, 2, 3}));
  static_assert(stage::all_known(Box{0, 0, 0}));
  static_assert(!(stage::all_known(Box{dyn, 2, 3})));
  static_assert(!(stage::all_known(Box{1, dyn, 3})));
  static_assert(!(stage::all_known(Box{1, 2, dyn})));
}

TEST_CASE("all_dyn knows nothing") { static_assert(stage::all_dyn<Box>() == Box{dyn, dyn, dyn}); }

TEST_CASE("a fully known value is its type, whatever the run time says") {
  static_assert(Fixed{}.get() == Box{2, 3, 4});
  static_assert(Fixed{Box{7, 8, 9}}.get().volume() == 24);
  static_assert(std::is_empty_v<Fixed>);
}

TEST_CASE("the run time fills in what a type leaves open, and only that") {
  static_assert(Part{Box{7, 8, 9}}.get() == Box{2, 8, 4});
  static_assert(Open{Box{7, 8, 9}}.get() == Box{7, 8, 9});
  int at_run_time = 5;
  const Part part{Box{0, at_run_time, 0}};
  at_run_time = 6;  // it holds its own copy
  CHECK(part.get() == Box{2, 5, 4});
  CHECK(part.get().volume() == 40);
}
