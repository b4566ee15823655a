// Extents in types: Shape<dyn, 1, 28, 28>.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "known.hpp"
#include "text.hpp"

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

namespace detail {
template <class T>
[[gnu::cold]] std::string extents_text(std::span<const T> extents) {
  std::string s;
  for (const T& e : extents) s += text(s.empty() ? "" : ", ", e == dyn ? "dyn" : text(e));
  return text("(", s, extents.size() == 1 ? ",)" : ")");
}
}  // namespace detail
/// "(64, 1, 28, 28)": as Python prints a shape.
inline std::string shape_string(std::span<const int> extents) { return detail::extents_text(extents); }
inline std::string shape_string(std::span<const std::int64_t> extents) {
  return detail::extents_text(extents);
}

}  // namespace kern
