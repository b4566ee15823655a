// A tensor that owns its elements.
#pragma once
#include <cmath>
#include <concepts>
#include <initializer_list>

#include "../core/memory.hpp"
#include "../host/host.hpp"
#include "view.hpp"

namespace kern {

/// Elements of type T, row-major, of shape S, on a device: on Host, on the heap, aligned to 64 bytes.
/// Movable; a copy is asked for by name, clone(), for it may be large.
template <class T, class S, class Device = Host>
class Tensor {
  static_assert(std::is_arithmetic_v<T>, "a tensor holds numbers");
  using ExtentsOf = detail::Extents<S>;

 public:
  using Element = T;
  using Extents = S;
  using View = TensorView<T, S>;
  using ConstView = TensorView<const T, S>;
  static constexpr int rank = S::rank;

  /// All zeros; dyn extents in order: Tensor<float, Shape<dyn, 3>>(n).
  template <std::convertible_to<int>... N>
    requires(int(sizeof...(N)) == ExtentsOf::unknown)
  explicit Tensor(N... n) : extents_(n...), elements_(extents_.size()) {}
  /// From values, row-major; of the dyn extents only the first is free: Tensor<float, Shape<2, 3>>{1, 2, 3,
  /// 4, 5, 6}. Throws ShapeError if their number does not fit.
  Tensor(std::initializer_list<T> values)
    requires(rank > 0 && ExtentsOf::unknown <= 1)
      : Tensor(extents_for(values.size()), nullptr) {
    std::copy(values.begin(), values.end(), data());
  }
  /// From rows of values: Tensor<float, Shape<2, 3>>{{1, 2, 3}, {4, 5, 6}}. Throws ShapeError if a row's
  /// length differs.
  Tensor(std::initializer_list<std::initializer_list<T>> rows)
    requires(rank == 2)
      : Tensor(extents_of(rows), nullptr) {
    T* to = data();
    for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  template <std::convertible_to<int>... N>
  static Tensor zeros(N... n) {
    return Tensor(n...);
  }
  template <std::convertible_to<int>... N>
  static Tensor ones(N... n) {
    return full(T(1), n...);
  }
  /// Every element = value; dyn extents behind it.
  template <std::convertible_to<int>... N>
  static Tensor full(T value, N... n) {
    Tensor t(n...);
    t.view().fill(value);
    return t;
  }
  /// start, start + step, ... before end: PyTorch's arange. A shape of one known extent must have that many.
  static Tensor arange(T start, T end, T step = T(1))
    requires(rank == 1)
  {
    const double count = std::ceil((double(end) - double(start)) / double(step));
    if (!(count >= 0) || step == T(0))
      throw ArgumentError("arange: step " + std::to_string(step) + " does not lead from " +
                          std::to_string(start) + " to " + std::to_string(end));
    Tensor t(ExtentsOf({int(count)}, nullptr), nullptr);
    for (std::size_t i = 0; i < t.size(); ++i) t.data()[i] = T(double(start) + double(i) * double(step));
    return t;
  }
  static Tensor arange(T end)
    requires(rank == 1)
  {
    return arange(T(0), end);
  }
  /// A copy of what a view shows; converted to T.
  template <class U, class From>
    requires(detail::may_be<From, S>())
  static Tensor copy_of(const TensorView<U, From>& v) {
    Tensor t(ExtentsOf(v.shape(), nullptr), nullptr);
    t.view().copy_from(v);
    return t;
  }

  Tensor clone() const { return copy_of(view()); }
  View view() { return View(data(), extents_); }
  ConstView view() const { return ConstView(data(), extents_); }
  /// Implicit where the shape surely fits; explicit and checked where it may.
  template <class U, class To>
    requires(detail::always_is<S, To>())
  operator TensorView<U, To>() {
    return view();
  }
  template <class U, class To>
    requires(detail::always_is<S, To>() && std::is_const_v<U>)
  operator TensorView<U, To>() const {
    return view();
  }
  template <class U, class To>
    requires(detail::may_be<S, To>() && !detail::always_is<S, To>())
  explicit operator TensorView<U, To>() const {
    return TensorView<U, To>(view());
  }

  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  std::size_t size() const { return extents_.size(); }
  const std::array<int, std::size_t(rank)>& shape() const { return extents_.all(); }
  int extent(int dimension) const { return extents_[dimension]; }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  /// As a view's.
  template <class... I>
  T& operator()(I... i) {
    return view()(i...);
  }
  template <class... I>
  const T& operator()(I... i) const {
    return view()(i...);
  }
  template <class... I>
  T& at(I... i) {
    return view().at(i...);
  }
  template <class... I>
  const T& at(I... i) const {
    return view().at(i...);
  }
  auto operator[](std::ptrdiff_t i) { return view()[i]; }
  auto operator[](std::ptrdiff_t i) const { return view()[i]; }
  template <class To, class... N>
  auto reshape(N... n) {
    return view().template reshape<To>(n...);
  }
  template <class To, class... N>
  auto reshape(N... n) const {
    return view().template reshape<To>(n...);
  }
  template <class Source>
  void copy_from(const Source& v) {
    view().copy_from(const_view(v));
  }
  void fill(T value) { view().fill(value); }

 private:
  Tensor(const ExtentsOf& extents, std::nullptr_t) : extents_(extents), elements_(extents_.size()) {}

  template <class U, class From>
  static const TensorView<U, From>& const_view(const TensorView<U, From>& v) {
    return v;
  }
  template <class U, class From, class D>
  static TensorView<const U, From> const_view(const Tensor<U, From, D>& t) {
    return t.view();
  }
  static ExtentsOf extents_for(std::size_t count) {
    auto all = S::extents;
    std::size_t known = 1;
    for (int e : all) known *= e == dyn ? 1 : std::size_t(e);
    for (int& e : all)
      if (e == dyn) e = known ? int(count / known) : 0;
    std::size_t size = 1;
    for (int e : all) size *= std::size_t(e);
    if (size != count)
      throw ShapeError("a tensor of shape " + shape_string(S::extents) + " can't have " +
                       std::to_string(count) + " values");
    return ExtentsOf(all, nullptr);
  }
  static ExtentsOf extents_of(std::initializer_list<std::initializer_list<T>> rows) {
    const std::size_t width = rows.size() ? rows.begin()->size() : 0;
    for (const auto& row : rows)
      if (row.size() != width)
        throw ShapeError("rows of a tensor: expected " + std::to_string(width) + " values, got " +
                         std::to_string(row.size()));
    return ExtentsOf({int(rows.size()), int(width)}, nullptr);
  }

  ExtentsOf extents_;
  Buffer<T> elements_;
};

}  // namespace kern
