// A tensor somewhere in memory that someone else owns.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "../core/error.hpp"
#include "../core/shape.hpp"

namespace kern {

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

/// Run-time extents of a Shape: known ones from the type, `dyn` ones as given, in order.
template <class S>
class Extents {
 public:
  static constexpr int rank = S::rank;
  using Array = std::array<int, std::size_t(rank)>;
  static constexpr int unknown = [] {
    int n = 0;
    for (int e : S::extents) n += e == dyn;
    return n;
  }();

  constexpr Extents()
    requires(unknown == 0)
      : at_(S::extents) {}
  template <std::convertible_to<int>... N>
    requires(int(sizeof...(N)) == unknown && unknown > 0)
  constexpr explicit Extents(N... n) : at_(S::extents) {
    const int given[] = {int(n)...};
    int i = 0;
    for (int& e : at_)
      if (e == dyn) {
        e = given[i++];
        if (e < 0) throw ShapeError("an extent must be >= 0, got " + std::to_string(e));
      }
  }
  /// All extents; throws ShapeError where a known one differs.
  constexpr explicit Extents(const Array& all, std::nullptr_t) : at_(all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (S::extents[i] != dyn && S::extents[i] != all[i])
        throw ShapeError("expected shape " + shape_string(S::extents) + ", got " + shape_string(all));
  }

  constexpr const Array& all() const { return at_; }
  constexpr int operator[](int i) const { return at_[std::size_t(i)]; }
  constexpr std::size_t size() const {
    std::size_t n = 1;
    for (int e : at_) n *= std::size_t(e);
    return n;
  }
  /// Where element (i...) stands, row-major. Throws ArgumentError for an index outside its extent.
  template <class... I>
  std::size_t checked_offset(I... i) const {
    const long long index[] = {static_cast<long long>(i)..., 0};
    for (int d = 0; d < rank; ++d)
      if (index[d] < 0 || index[d] >= at_[std::size_t(d)])
        throw ArgumentError("index " + std::to_string(index[d]) + " is out of range for dimension " +
                            std::to_string(d) + " of a tensor of shape " + shape_string(at_));
    return offset(i...);
  }
  template <class... I>
  constexpr std::size_t offset(I... i) const {
    std::size_t at = 0, d = 0;
    ((at = at * std::size_t(at_[d++]) + std::size_t(i)), ...);
    return at;
  }

 private:
  Array at_;
};

}  // namespace detail

/// Elements of type T (const T: read only) in row-major order, shape S, owned by someone else: a pointer and
/// the extents that S doesn't know. Copying a view copies neither elements nor ownership.
template <class T, class S>
class TensorView {
 public:
  using Element = T;
  using Extents = S;
  static constexpr int rank = S::rank;

  /// At `data`, with the dyn extents in order: TensorView<float, Shape<dyn, 3>>(p, n).
  template <std::convertible_to<int>... N>
    requires(int(sizeof...(N)) == detail::Extents<S>::unknown)
  constexpr explicit TensorView(T* data, N... n) : data_(data), extents_(n...) {}
  constexpr TensorView(T* data, const detail::Extents<S>& extents) : data_(data), extents_(extents) {}

  /// From a view whose shape surely fits: implicit. T -> const T as pointers do.
  template <class U, class From>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && detail::always_is<From, S>())
  constexpr TensorView(const TensorView<U, From>& v) : data_(v.data()), extents_(v.shape(), nullptr) {}
  /// From one that may fit: explicit, throws ShapeError with both shapes if it doesn't.
  template <class U, class From>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && detail::may_be<From, S>() &&
             !detail::always_is<From, S>())
  constexpr explicit TensorView(const TensorView<U, From>& v)
      : data_(v.data()), extents_(v.shape(), nullptr) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return extents_.size(); }
  /// All extents, outermost first.
  constexpr const std::array<int, std::size_t(rank)>& shape() const { return extents_.all(); }
  constexpr int extent(int dimension) const { return extents_[dimension]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size(); }

  /// Element (i, j, ...). Without NDEBUG an index outside its extent throws ArgumentError.
  template <std::convertible_to<std::ptrdiff_t>... I>
    requires(int(sizeof...(I)) == rank)
  T& operator()(I... i) const {
#ifdef NDEBUG
    return data_[extents_.offset(i...)];
#else
    return at(i...);
#endif
  }
  /// The same, always checked.
  template <std::convertible_to<std::ptrdiff_t>... I>
    requires(int(sizeof...(I)) == rank)
  T& at(I... i) const {
    return data_[extents_.checked_offset(i...)];
  }
  /// The i-th part along the first dimension: a view of the other dimensions.
  auto operator[](std::ptrdiff_t i) const
    requires(rank > 0)
  {
    if (i < 0 || i >= extent(0))
      throw ArgumentError("index " + std::to_string(i) +
                          " is out of range for dimension 0 of a tensor of shape " + shape_string(shape()));
    using In = typename detail::Inner<S>::type;
    std::array<int, std::size_t(rank - 1)> rest{};
    for (std::size_t d = 0; d < rest.size(); ++d) rest[d] = shape()[d + 1];
    const detail::Extents<In> inner(rest, nullptr);
    return TensorView<T, In>(data_ + std::size_t(i) * inner.size(), inner);
  }
  /// The same elements in another shape; dyn extents in order. Throws ShapeError if the numbers of elements
  /// differ.
  template <class To, std::convertible_to<int>... N>
  TensorView<T, To> reshape(N... n) const {
    const detail::Extents<To> to(n...);
    if (to.size() != size())
      throw ShapeError("reshape: shape " + shape_string(to.all()) + " has " + std::to_string(to.size()) +
                       " elements, the tensor of shape " + shape_string(shape()) + " has " +
                       std::to_string(size()));
    return TensorView<T, To>(data_, to);
  }
  /// Copies the elements of a tensor of equal shape (converted to T). Shapes that can't be equal don't
  /// compile; others throw ShapeError, with nothing copied.
  template <class U, class From>
  void copy_from(const TensorView<U, From>& v) const {
    static_assert(detail::may_be<From, S>(), "copy_from: the shapes differ");
    if (v.shape() != shape())
      throw ShapeError("copy_from: expected shape " + shape_string(shape()) + ", got " +
                       shape_string(v.shape()));
    for (std::size_t i = 0; i < size(); ++i) data_[i] = static_cast<T>(v.data()[i]);
  }
  /// Every element = value.
  void fill(T value) const {
    for (T& e : *this) e = value;
  }

 private:
  T* data_;
  detail::Extents<S> extents_;
};

}  // namespace kern
