// A tensor somewhere in memory that someone else owns.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// How many extents of S are dyn.
template <class S>
constexpr int unknown_extents() {
  int n = 0;
  for (int e : S::extents) n += e == dyn;
  return n;
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
            throw ArgumentError("extent of a tensor: expected 0 to 2147483647, got " + std::to_string(g));
          e = int(g);
        }
    }
    check_size();
  }
  /// All extents; throws ShapeError where a known one differs.
  constexpr explicit Extents(const Array& all, std::nullptr_t) : at_(all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (S::extents[i] != dyn && S::extents[i] != all[i])
        throw ShapeError("expected shape " + shape_string(S::extents) + ", got " + shape_string(all));
    check_size();
  }

  constexpr const Array& all() const { return at_; }
  constexpr int operator[](int i) const { return at_[std::size_t(i)]; }
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
    throw ArgumentError("index " + std::to_string(index) + " is out of range for dimension " +
                        std::to_string(dimension) + " with extent " + std::to_string((*this)[dimension]) +
                        " of a tensor of shape " + shape_string(at_));
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
          throw ArgumentError("a tensor of shape " + shape_string(at_) + " has too many elements");
        n *= std::size_t(e);
      }
    }
  }

  Array at_;
};

/// What a tensor gives as a view of itself, and whether that can be a View.
template <class Owner>
using ViewOf = decltype(std::declval<Owner&>().view());
template <class Owner, class View>
concept Shown = requires { typename ViewOf<Owner>; } && std::is_constructible_v<View, ViewOf<Owner>>;

}  // namespace detail

/// Elements of type T (const T: read only) in row-major order, shape S, owned by someone else: a pointer and
/// the extents that S doesn't know. Copying a view copies neither elements nor ownership, and a const view of
/// T still writes: like std::span.
template <class T, class S>
class TensorView {
  using ExtentsOf = detail::Extents<S>;

 public:
  using Element = T;
  using Extents = S;
  static constexpr int rank = S::rank;

  /// At `data`, with the dyn extents in order: TensorView<float, Shape<dyn, 3>>(p, n). Throws ArgumentError
  /// for a negative extent.
  template <class... N>
    requires detail::DynExtentsOf<S, N...>
  constexpr explicit TensorView(T* data, N... n) : data_(data), extents_(n...) {}
  constexpr TensorView(T* data, const ExtentsOf& extents) : data_(data), extents_(extents) {}

  /// From a view whose shape surely fits: implicit. T -> const T as pointers do.
  template <class U, class From>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && detail::always_is<From, S>())
  constexpr TensorView(const TensorView<U, From>& v) : data_(v.data()), extents_(v.shape(), nullptr) {}
  /// From one that may fit (a dyn extent to a known one): explicit, throws ShapeError with both shapes if it
  /// doesn't. One that can't fit does not compile.
  template <class U, class From>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && detail::may_be<From, S>() &&
             !detail::always_is<From, S>())
  constexpr explicit TensorView(const TensorView<U, From>& v)
      : data_(v.data()), extents_(v.shape(), nullptr) {}

  /// From a tensor, under the same rules. The view must not outlive it.
  template <class Owner>
    requires detail::Shown<Owner, TensorView>
  constexpr explicit(!std::is_convertible_v<detail::ViewOf<Owner>, TensorView>) TensorView(Owner&& tensor)
      : TensorView(tensor.view()) {}

  constexpr T* data() const { return data_; }
  /// The number of elements.
  constexpr std::size_t size() const { return extents_.size(); }
  /// All extents, outermost first.
  constexpr const std::array<int, std::size_t(rank)>& shape() const { return extents_.all(); }
  constexpr int extent(int dimension) const { return extents_[dimension]; }
  /// The elements, one after another.
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size(); }

  /// Element (i, j, ...). Without NDEBUG an index outside its extent throws ArgumentError.
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  T& operator()(I... i) const {
#ifdef NDEBUG
    return data_[extents_.offset(i...)];
#else
    return at(i...);
#endif
  }
  /// The same, always checked.
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  T& at(I... i) const {
    return data_[extents_.checked_offset(i...)];
  }
  /// The i-th part along the first dimension: a view of the other dimensions. Always checked: throws
  /// ArgumentError.
  auto operator[](std::ptrdiff_t i) const
    requires(rank > 0)
  {
    if (i < 0 || i >= extent(0)) extents_.out_of_range(i, 0);
    using In = typename detail::Inner<S>::type;
    std::array<int, std::size_t(rank - 1)> rest{};
    for (int d = 1; d < rank; ++d) rest[std::size_t(d - 1)] = extent(d);
    const detail::Extents<In> inner(rest, nullptr);
    return TensorView<T, In>(data_ + std::size_t(i) * inner.size(), inner);
  }
  /// The same elements in another shape; dyn extents in order: v.reshape<Shape<dyn, 4>>(n). A single dyn
  /// extent may be left out: what is left over goes there. Throws ShapeError if the numbers of elements
  /// differ; where both shapes are known that does not compile.
  template <class To, class... N>
    requires(detail::DynExtentsOf<To, N...> || (sizeof...(N) == 0 && detail::unknown_extents<To>() == 1))
  TensorView<T, To> reshape(N... n) const {
    if constexpr (S::is_static && To::is_static)
      static_assert(detail::Extents<S>().size() == detail::Extents<To>().size(),
                    "reshape: the numbers of elements differ");
    if constexpr (detail::DynExtentsOf<To, N...>) {
      const detail::Extents<To> to(n...);
      if (to.size() != size()) misshaped(to.all());
      return TensorView<T, To>(data_, to);
    } else {
      std::size_t known = 1;
      for (int e : To::extents)
        if (e != dyn) known *= std::size_t(e);
      if (known == 0 || size() % known != 0) misshaped(To::extents);
      return reshape<To>(size() / known);
    }
  }
  /// Copies the elements of a tensor of equal shape, each as static_cast<T>. Shapes that can't be equal don't
  /// compile; others throw ShapeError, with nothing copied. The two may overlap if their types are the same.
  template <class U, class From>
  void copy_from(const TensorView<U, From>& v) const {
    static_assert(detail::may_be<From, S>(), "copy_from: the shapes differ");
    if (v.shape() != shape())
      throw ShapeError("copy_from: expected shape " + shape_string(shape()) + ", got " +
                       shape_string(v.shape()));
    if constexpr (std::is_same_v<std::remove_const_t<U>, T>) {
      if (size()) std::memmove(data_, v.data(), size() * sizeof(T));
    } else {
      for (std::size_t i = 0; i < size(); ++i) data_[i] = static_cast<T>(v.data()[i]);
    }
  }
  /// Every element = value.
  void fill(T value) const {
    for (T& e : *this) e = value;
  }

 private:
  template <class Wanted>
  [[noreturn]] void misshaped(const Wanted& to) const {
    throw ShapeError("reshape: a tensor of shape " + shape_string(shape()) + " with " +
                     std::to_string(size()) + " elements can't have shape " + shape_string(to));
  }

  T* data_;
  ExtentsOf extents_;
};

}  // namespace kern
