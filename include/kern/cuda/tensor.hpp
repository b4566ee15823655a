// Tensors in a GPU's memory.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "../tensor/tensor.hpp"
#include "device.hpp"

#ifdef __CUDACC__
#include "copy.hpp"
#include "memory.hpp"
#endif

namespace kern {

#ifndef __CUDACC__
namespace detail {
template <class>
inline constexpr bool built_with_cuda = false;
}
template <class T, class S>
class TensorView<T, S, Cuda> {
  static_assert(detail::built_with_cuda<T>, "a tensor on Cuda: compile this file with nvcc (nvcc -x cu)");
};
template <class T, class S>
class Tensor<T, S, Cuda> {
  static_assert(detail::built_with_cuda<T>, "a tensor on Cuda: compile this file with nvcc (nvcc -x cu)");
};
#else

/// Where elements lie in a device's memory. A program on the host can't look there; get() is for kernels.
template <class T>
class DevicePointer {
 public:
  constexpr explicit DevicePointer(T* p) : p_(p) {}
  constexpr T* get() const { return p_; }
  friend constexpr bool operator==(DevicePointer, DevicePointer) = default;

 private:
  T* p_;
};

namespace detail {
/// Zeros on the host, of a shape that fits S.
template <class T, class S>
Tensor<T, S, Host> host_tensor(const typename Extents<S>::Array& shape) {
  std::array<int, std::size_t(unknown_extents<S>())> given{};
  std::size_t n = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (S::extents[d] == dyn) given[n++] = shape[d];
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Tensor<T, S, Host>(given[I]...);
  }(std::make_index_sequence<given.size()>());
}
}  // namespace detail

/// A view of elements in a device's memory. Its work is put on its stream, in order: only to(Host{}), item(),
/// copy_to, copies from the host and printing wait for it.
template <class T, class S>
class TensorView<T, S, Cuda> {
  using ExtentsOf = detail::Extents<S>;
  using Owned = Tensor<std::remove_const_t<T>, S, Cuda>;

 public:
  using Element = T;
  using Extents = S;
  static constexpr int rank = S::rank;

  /// At `data`, in the memory of where.device, with the dyn extents in order.
  template <class... N>
    requires detail::DynExtentsOf<S, N...>
  explicit TensorView(DevicePointer<T> data, const Cuda& where, N... n)
      : data_(data.get()), where_(where), extents_(n...) {}
  TensorView(DevicePointer<T> data, const Cuda& where, const ExtentsOf& extents)
      : data_(data.get()), where_(where), extents_(extents) {}

  /// From another view or a tensor: by the rules of the host's views (implicit where the shape surely fits,
  /// explicit and checked where it may).
  template <class U, class From>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && detail::may_be<From, S>())
  explicit(!detail::always_is<From, S>()) TensorView(const TensorView<U, From, Cuda>& v)
      : data_(v.data().get()), where_(v.device()), extents_(v.shape(), nullptr) {}
  template <class Owner>
    requires detail::Shown<Owner, TensorView>
  explicit(!std::is_convertible_v<detail::ViewOf<Owner>, TensorView>) TensorView(Owner&& tensor)
      : TensorView(tensor.view()) {}

  DevicePointer<T> data() const { return DevicePointer<T>(data_); }
  const Cuda& device() const { return where_; }
  /// The number of elements.
  std::size_t size() const { return extents_.size(); }
  /// All extents, outermost first.
  const std::array<int, std::size_t(rank)>& shape() const { return extents_.all(); }
  /// Throws ArgumentError if there is no such dimension.
  int extent(int dimension) const { return extents_[dimension]; }

  /// Part i along the first dimension, a view of the other dimensions; of rank 1 a view of one element, for
  /// item() or fill(). Throws ArgumentError.
  auto operator[](std::ptrdiff_t i) const
    requires(rank > 0)
  {
    if (i < 0 || i >= extent(0)) extents_.out_of_range(i, 0);
    using In = typename detail::Inner<S>::type;
    std::array<int, std::size_t(rank - 1)> rest{};
    for (int d = 1; d < rank; ++d) rest[std::size_t(d - 1)] = extent(d);
    const detail::Extents<In> inner(rest, nullptr);
    return TensorView<T, In, Cuda>(DevicePointer<T>(data_ + std::size_t(i) * inner.size()), where_, inner);
  }
  /// The same elements in another shape: as the host's. Throws ShapeError.
  template <class To, class... N>
  auto reshape(N... n) const {
    // The host's view counts and checks; it is never looked into.
    const auto v = TensorView<T, S, Host>(data_, extents_).template reshape<To>(n...);
    return TensorView<T, To, Cuda>(DevicePointer<T>(data_), where_, detail::Extents<To>(v.shape(), nullptr));
  }

  /// Copies the elements of a tensor or view of equal shape and element type, on the host (then it returns
  /// when they are here) or on this device. Shapes that can't be equal don't compile; others throw
  /// ShapeError, with nothing copied. The two must not overlap.
  template <class Source>
    requires requires(const Source& source) { source.view(); }
  void copy_from(const Source& source) const {
    copy_from(source.view());
  }
  template <class U, class From, class Device>
  void copy_from(const TensorView<U, From, Device>& v) const {
    static_assert(std::is_same_v<std::remove_const_t<U>, T>,
                  "copy_from: the element types differ; convert on the host, with Tensor<T, S>::copy_of");
    (void)sizeof(detail::CopiedShapes<S, From>);
    if constexpr (detail::may_be<From, S>()) {
      if (v.shape() != shape())
        throw ShapeError(
            text("copy_from: expected shape ", shape_string(shape()), ", got ", shape_string(v.shape())));
      if constexpr (std::is_same_v<Device, Host>)
        gpu::copy_to_device(data_, where_, v.data(), size() * sizeof(T));
      else
        gpu::copy_on_device(data_, where_, v.data().get(), v.device(), size() * sizeof(T));
    }
  }
  /// The other way: into a tensor or view of equal shape on the host. Returns when the elements are there.
  template <class Target>
  void copy_to(Target&& target) const {
    const auto v = as_host_view(target);
    using To = typename decltype(v)::Extents;
    static_assert(std::is_same_v<typename decltype(v)::Element, std::remove_const_t<T>>,
                  "copy_to: the element types differ");
    (void)sizeof(detail::CopiedShapes<To, S>);
    if constexpr (detail::may_be<S, To>()) {
      if (v.shape() != shape())
        throw ShapeError(text("copy_to: a tensor of shape ", shape_string(shape()), " into one of shape ",
                              shape_string(v.shape())));
      gpu::copy_to_host(v.data(), data_, where_, size() * sizeof(T));
    }
  }
  /// Every element = value.
  void fill(T value) const { gpu::fill(data_, size(), value, where_); }
  /// A tensor of its own with these elements, on the same device and stream.
  Owned clone() const { return Owned::copy_of(*this, where_); }
  /// The only element. Throws ArgumentError if there are more, or none.
  std::remove_const_t<T> item() const {
    if (size() != 1)
      throw ArgumentError(
          text("item: expected a tensor of 1 element, got one of shape ", shape_string(shape())));
    std::remove_const_t<T> value;
    gpu::copy_to_host(&value, data_, where_, sizeof value);
    return value;
  }
  /// A copy on the host, or on a device (also on this one).
  Tensor<std::remove_const_t<T>, S, Host> to(const Host&) const {
    auto t = detail::host_tensor<std::remove_const_t<T>, S>(shape());
    copy_to(t.view());
    return t;
  }
  Owned to(const Cuda& where) const { return Owned::copy_of(*this, where); }

 private:
  template <class U, class To>
  static TensorView<U, To, Host> as_host_view(const TensorView<U, To, Host>& v) {
    return v;
  }
  template <class U, class To>
  static TensorView<U, To, Host> as_host_view(Tensor<U, To, Host>& t) {
    return t.view();
  }

  T* data_;
  Cuda where_;
  ExtentsOf extents_;
};

/// On a GPU: moves, and is copied by clone() or to() only, as on the host. Elements can't be reached from the
/// host: to(Host{}) brings them. Where a device stands in front of the extents, it may be left out: Cuda{0}.
/// Throws CudaError if there is no memory, or no such device.
template <class T, class S>
class Tensor<T, S, Cuda> {
  static_assert(std::is_arithmetic_v<T> && std::is_same_v<T, std::remove_cv_t<T>>, "a tensor holds numbers");
  using ExtentsOf = detail::Extents<S>;
  template <class... N>
  static constexpr bool given = detail::DynExtentsOf<S, N...>;

 public:
  using Element = T;
  using Extents = S;
  using View = TensorView<T, S, Cuda>;
  using ConstView = TensorView<const T, S, Cuda>;
  static constexpr int rank = S::rank;

  /// All zeros; without extents, dyn ones are 0: for what is assigned to later. No elements, no call of CUDA.
  Tensor() : Tensor(Cuda{}) {}
  explicit Tensor(const Cuda& where) : Tensor(ExtentsOf(detail::no_extents<S>(), nullptr), where) {}
  /// All zeros; dyn extents in order: Tensor<float, Shape<dyn, 3>, Cuda>(Cuda{0}, n).
  template <class... N>
    requires(sizeof...(N) > 0 && given<N...>)
  explicit Tensor(const Cuda& where, N... n) : Tensor(ExtentsOf(n...), where) {}
  template <class... N>
    requires(sizeof...(N) > 0 && given<N...>)
  explicit Tensor(N... n) : Tensor(Cuda{}, n...) {}
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  template <class... N>
    requires(given<N...>)
  static Tensor zeros(const Cuda& where, N... n) {
    return Tensor(ExtentsOf(n...), where);
  }
  template <class... N>
    requires(given<N...>)
  static Tensor zeros(N... n) {
    return zeros(Cuda{}, n...);
  }
  template <class... N>
    requires(given<N...>)
  static Tensor ones(const Cuda& where, N... n) {
    return full(T(1), where, n...);
  }
  template <class... N>
    requires(given<N...>)
  static Tensor ones(N... n) {
    return ones(Cuda{}, n...);
  }
  /// Every element = value; device and dyn extents behind it.
  template <class... N>
    requires(given<N...>)
  static Tensor full(T value, const Cuda& where, N... n) {
    Tensor t(ExtentsOf(n...), where);
    t.fill(value);
    return t;
  }
  template <class... N>
    requires(given<N...>)
  static Tensor full(T value, N... n) {
    return full(value, Cuda{}, n...);
  }
  /// A copy of a tensor or view of equal element type, on the host or a device. Throws ShapeError if its
  /// shape is not S; one that can't be does not compile.
  template <class From, class Device, class U>
    requires(detail::may_be<From, S>() && std::is_same_v<std::remove_const_t<U>, T>)
  static Tensor copy_of(const TensorView<U, From, Device>& v, const Cuda& where = {}) {
    Tensor t(ExtentsOf(v.shape(), nullptr), where);
    t.copy_from(v);
    return t;
  }
  template <class Source>
    requires requires(const Source& source) { source.view(); }
  static Tensor copy_of(const Source& source, const Cuda& where = {}) {
    return copy_of(source.view(), where);
  }

  /// A copy on the same device and stream.
  Tensor clone() const { return copy_of(view(), where_); }
  /// All of it, as a view that must not outlive it. Throws ArgumentError if the elements were moved away.
  View view() { return require_elements(), View(data(), where_, extents_); }
  ConstView view() const { return require_elements(), ConstView(data(), where_, extents_); }
  DevicePointer<T> data() { return DevicePointer<T>(elements_.data()); }
  DevicePointer<const T> data() const { return DevicePointer<const T>(elements_.data()); }
  const Cuda& device() const { return where_; }
  /// The number of elements.
  std::size_t size() const { return extents_.size(); }
  /// All extents, outermost first.
  const typename ExtentsOf::Array& shape() const { return extents_.all(); }
  int extent(int dimension) const { return extents_[dimension]; }
  /// The only element. Throws ArgumentError if there are more, or none.
  T item() const { return view().item(); }
  /// As TensorView's: part i along the first dimension, and the whole in another shape.
  auto operator[](std::ptrdiff_t i) &
    requires(rank > 0)
  {
    return view()[i];
  }
  auto operator[](std::ptrdiff_t i) const&
    requires(rank > 0)
  {
    return view()[i];
  }
  template <class To, class... N>
  auto reshape(N... n) & {
    return view().template reshape<To>(n...);
  }
  template <class To, class... N>
  auto reshape(N... n) const& {
    return view().template reshape<To>(n...);
  }
  // Views of a tensor that is gone at the end of the line: give it a name first.
  void operator[](std::ptrdiff_t i) && = delete;
  void operator[](std::ptrdiff_t i) const&& = delete;
  template <class To, class... N>
  void reshape(N... n) && = delete;
  template <class To, class... N>
  void reshape(N... n) const&& = delete;

  /// As TensorView's.
  template <class Source>
  void copy_from(const Source& source) {
    view().copy_from(source);
  }
  template <class Target>
  void copy_to(Target&& target) const {
    view().copy_to(target);
  }
  void fill(T value) { view().fill(value); }
  /// A copy on the host, or on a device (also on this one).
  Tensor<T, S, Host> to(const Host& host) const { return view().to(host); }
  Tensor to(const Cuda& where) const { return view().to(where); }

 private:
  Tensor(const ExtentsOf& extents, const Cuda& where) : extents_(extents), where_(where) {
    if (extents_.size()) elements_ = gpu::Buffer<T>(extents_.size(), where);
  }
  void require_elements() const {
    if (extents_.size() && elements_.size() == 0)
      throw ArgumentError(
          text("a tensor of shape ", shape_string(shape()), " was moved from: it has no elements"));
  }

  ExtentsOf extents_;
  Cuda where_;
  gpu::Buffer<T> elements_;
};
#endif

}  // namespace kern
