// The extents of one tensor: those that its type knows, and those that came at run time.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../core/error.hpp"
#include "../core/shape.hpp"

namespace kern {

/// The words of a compile error: a copy between tensors whose shapes can't be equal. Never defined.
template <class Expected, class Got>
struct tensor_shapes_differ;

namespace detail {

/// The shape of T[i]: without the first extent.
template <class S>
struct Inner;
template <int First, int... Rest>
struct Inner<Shape<First, Rest...>> {
  using type = Shape<Rest...>;
};

/// A tensor of shape From may be seen as one of shape To: the same rank, and no two known extents that
/// differ.
template <class From, class To>
constexpr bool may_be() {
  if constexpr (From::rank != To::rank) {
    return false;
  } else {
    for (int i = 0; i < From::rank; ++i) {
      const int from = From::extents[std::size_t(i)], to = To::extents[std::size_t(i)];
      if (from != to && from != dyn && to != dyn) return false;
    }
    return true;
  }
}
/// sizeof this, before a copy: where may_be() is false, the one error of the compiler has both shapes,
///   invalid use of incomplete type 'struct kern::tensor_shapes_differ<kern::Shape<2, 3>, kern::Shape<3, 2>
///   >'
template <class Expected, class Got, bool = may_be<Got, Expected>()>
struct CopiedShapes {};
template <class Expected, class Got>
struct CopiedShapes<Expected, Got, false> : tensor_shapes_differ<Expected, Got> {};
/// And no check at run time is needed.
template <class From, class To>
constexpr bool always_is() {
  if constexpr (!may_be<From, To>()) {
    return false;
  } else {
    for (int i = 0; i < From::rank; ++i)
      if (To::extents[std::size_t(i)] != dyn && From::extents[std::size_t(i)] == dyn) return false;
    return true;
  }
}

/// How many extents of S are dyn.
template <class S>
constexpr int unknown_extents() {
  int n = 0;
  for (int e : S::extents) n += e == dyn;
  return n;
}
/// S with 0 in place of dyn.
template <class S>
constexpr auto no_extents() {
  auto all = S::extents;
  for (int& e : all)
    if (e == dyn) e = 0;
  return all;
}
/// N... are the dyn extents of S, in order.
template <class S, class... N>
concept DynExtentsOf = (std::integral<N> && ...) && int(sizeof...(N)) == unknown_extents<S>();

/// What no tensor's number of elements exceeds: it and the bytes of it can be counted.
inline constexpr std::size_t most_elements = PTRDIFF_MAX / 64;

/// Run-time extents of a Shape: known ones from the type, `dyn` ones as given, in order.
template <class S>
class Extents {
 public:
  static constexpr int rank = S::rank;
  using Array = std::array<int, std::size_t(rank)>;

  /// Throws ArgumentError for an extent that no int can hold, or a product that is too large.
  template <class... N>
    requires DynExtentsOf<S, N...>
  constexpr explicit Extents(N... n) : at_(S::extents) {
    if constexpr (sizeof...(N) > 0) {
      const long long given[] = {static_cast<long long>(n)...};
      int i = 0;
      for (int& e : at_)
        if (e == dyn) {
          const long long g = given[i++];
          if (g < 0 || g > INT32_MAX)
            throw ArgumentError(text("extent of a tensor: expected 0 to 2147483647, got ", g));
          e = int(g);
        }
    }
    check_size();
  }
  /// All extents; throws ShapeError where a known one differs.
  constexpr explicit Extents(const Array& all, std::nullptr_t) : at_(all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (S::extents[i] != dyn && S::extents[i] != all[i])
        throw ShapeError(text("expected shape ", shape_string(S::extents), ", got ", shape_string(all)));
    check_size();
  }

  constexpr const Array& all() const { return at_; }
  constexpr int operator[](int d) const {
    if (d < 0 || d >= rank)
      throw ArgumentError(
          text("dimension ", d, " of a tensor of shape ", shape_string(at_), ": expected 0 to ", rank - 1));
    return int(extent(d));
  }
  constexpr std::size_t size() const {
    std::size_t n = 1;
    for (int d = 0; d < rank; ++d) n *= extent(d);
    return n;
  }
  /// Where element (i...) stands, row-major. Throws ArgumentError for an index outside its extent.
  template <class... I>
  std::size_t checked_offset(I... i) const {
    if constexpr (rank > 0) {
      const long long index[] = {static_cast<long long>(i)...};
      for (int d = 0; d < rank; ++d)
        if (index[d] < 0 || index[d] >= static_cast<long long>(extent(d))) out_of_range(index[d], d);
    }
    return offset(i...);
  }
  template <class... I>
  constexpr std::size_t offset(I... i) const {
    std::size_t at = 0;
    [[maybe_unused]] int d = 0;
    ((at = at * extent(d++) + std::size_t(i)), ...);
    return at;
  }
  [[noreturn]] void out_of_range(long long index, int dimension) const {
    throw ArgumentError(text("index ", index, " is out of range for dimension ", dimension, " with extent ",
                             (*this)[dimension], " of a tensor of shape ", shape_string(at_)));
  }

 private:
  // A known extent comes from the type, so that the compiler sees a constant.
  constexpr std::size_t extent(int i) const {
    const auto d = std::size_t(i);
    return std::size_t(S::extents[d] != dyn ? S::extents[d] : at_[d]);
  }
  constexpr void check_size() const {
    if constexpr (rank > 1) {
      std::size_t n = 1;
      for (int e : at_)
        if (e == 0) return;
      for (int e : at_) {
        if (n > most_elements / std::size_t(e))
          throw ArgumentError(text("a tensor of shape ", shape_string(at_), " has too many elements"));
        n *= std::size_t(e);
      }
    }
  }

  Array at_;
};

}  // namespace detail

}  // namespace kern
