// A tensor somewhere in memory that someone else owns.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "extents.hpp"

namespace kern {

namespace detail {
/// What a tensor gives as a view of itself, and whether that can be a View.
template <class Owner>
using ViewOf = decltype(std::declval<Owner&>().view());
template <class Owner, class View>
concept Shown = requires { typename ViewOf<Owner>; } && std::is_constructible_v<View, ViewOf<Owner>>;

}  // namespace detail

struct Host;
template <class T, class S, class Device>
class Tensor;

/// Elements of type T (const T: read only) in row-major order, shape S, in a device's memory, owned by
/// someone else. Each device has its own specialisation: only on Host can a program reach elements.
template <class T, class S, class Device = Host>
class TensorView;

/// On Host: a pointer and the extents that S doesn't know. Copying a view copies neither elements nor
/// ownership, and a const view of T still writes: like std::span.
template <class T, class S>
class TensorView<T, S, Host> {
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
  /// Throws ArgumentError if there is no such dimension.
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
  /// Of rank 1: element i, as (i) gives it. Of any other: the i-th part along the first dimension, a view of
  /// the other dimensions; always checked: throws ArgumentError.
  decltype(auto) operator[](std::ptrdiff_t i) const
    requires(rank > 0)
  {
    if constexpr (rank == 1) {
      return (*this)(i);
    } else {
      if (i < 0 || i >= extent(0)) extents_.out_of_range(i, 0);
      using In = typename detail::Inner<S>::type;
      std::array<int, std::size_t(rank - 1)> rest{};
      for (int d = 1; d < rank; ++d) rest[std::size_t(d - 1)] = extent(d);
      const detail::Extents<In> inner(rest, nullptr);
      return TensorView<T, In>(data_ + std::size_t(i) * inner.size(), inner);
    }
  }
  /// The only element. Throws ArgumentError if there are more, or none.
  T& item() const {
    if (size() != 1)
      throw ArgumentError(
          text("item: expected a tensor of 1 element, got one of shape ", shape_string(shape())));
    return *data_;
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
  template <class Source>
    requires requires(const Source& source) { source.view(); }
  void copy_from(const Source& source) const {
    copy_from(source.view());
  }
  template <class U, class From>
  void copy_from(const TensorView<U, From>& v) const {
    (void)sizeof(detail::CopiedShapes<S, From>);
    if constexpr (detail::may_be<From, S>()) {
      if (v.shape() != shape())
        throw ShapeError(
            text("copy_from: expected shape ", shape_string(shape()), ", got ", shape_string(v.shape())));
      if constexpr (std::is_same_v<std::remove_const_t<U>, T>) {
        if (size()) std::memmove(data_, v.data(), size() * sizeof(T));
      } else {
        for (std::size_t i = 0; i < size(); ++i) data_[i] = static_cast<T>(v.data()[i]);
      }
    }
  }
  /// Every element = value.
  void fill(T value) const {
    for (T& e : *this) e = value;
  }
  /// From another device; returns when the elements are here.
  template <class U, class From, class Other>
    requires(!std::is_same_v<Other, Host>)
  void copy_from(const TensorView<U, From, Other>& v) const {
    v.copy_to(*this);
  }
  /// A copy on another device: v.to(Cuda{0}) (needs that device's header, cuda/tensor.hpp).
  template <class Other>
  auto to(const Other& device) const {
    return Tensor<std::remove_const_t<T>, S, Other>::copy_of(*this, device);
  }
  auto to(const Host&) const { return clone(); }
  /// A tensor of its own with these elements (needs tensor.hpp).
  auto clone() const { return Tensor<std::remove_const_t<T>, S, Host>::copy_of(*this); }

 private:
  template <class Wanted>
  [[noreturn]] void misshaped(const Wanted& to) const {
    throw ShapeError(text("reshape: a tensor of shape ", shape_string(shape()), " with ", size(),
                          " elements can't have shape ", shape_string(to)));
  }

  T* data_;
  ExtentsOf extents_;
};

}  // namespace kern
