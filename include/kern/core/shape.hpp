// Extents in types: Shape<dyn, 1, 28, 28>.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "known.hpp"

namespace kern {

/// Two sizes along height and width, as PyTorch's (h, w) tuples: Conv2d<1, 8, Size2{3, 5}>.
struct Size2 {
  int h = 1, w = 1;
  friend constexpr bool operator==(Size2, Size2) = default;
};

namespace detail {
constexpr Size2 size2(int n) { return {n, n}; }
constexpr Size2 size2(Size2 s) { return s; }
}  // namespace detail

/// The extents of a tensor, outermost first; `dyn` where only the run time knows.
template <int... E>
struct Shape {
  static constexpr int rank = int(sizeof...(E));
  static constexpr std::array<int, sizeof...(E)> extents{E...};
  static constexpr bool is_static = ((E != dyn) && ...);
  static_assert(((E >= 0 || E == dyn) && ...), "an extent is >= 0, or dyn");
};

/// "(64, 1, 28, 28)": as Python prints a shape.
template <class Extents>
std::string shape_string(const Extents& e) {
  std::string s = "(";
  std::size_t n = 0;
  for (auto v : e) {
    if (n++) s += ", ";
    s += v == dyn ? "dyn" : std::to_string(v);
  }
  return s + (n == 1 ? ",)" : ")");
}

}  // namespace kern
