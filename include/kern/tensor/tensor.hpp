// A tensor that owns its elements.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <span>

#include "../host/host.hpp"
#include "../host/memory.hpp"
#include "view.hpp"

namespace kern {

namespace detail {
/// Braces as deep as a tensor has dimensions: {{1, 2}, {3, 4}}.
template <class T, int Rank>
struct Nested {
  using type = std::initializer_list<typename Nested<T, Rank - 1>::type>;
};
template <class T>
struct Nested<T, 0> {
  using type = T;
};
/// The extents of nested braces; throws ShapeError if two of the same depth differ in length.
template <int Rank, class Braces, std::size_t N>
void nested_extents(const Braces& braces, std::array<int, N>& extents, bool first = true) {
  const std::size_t d = N - std::size_t(Rank);
  if (first)
    extents[d] = int(braces.size());
  else if (braces.size() != std::size_t(extents[d]))
    throw ShapeError(text("values of a tensor, dimension ", d, ": expected ", extents[d],
                          " as in the first braces, got ", braces.size()));
  if constexpr (Rank > 1)
    for (const auto& inner : braces)
      nested_extents<Rank - 1>(inner, extents, first && &inner == braces.begin());
}
template <int Rank, class Braces, class T>
T* copy_nested(const Braces& braces, T* to) {
  if constexpr (Rank == 1)
    return std::copy(braces.begin(), braces.end(), to);
  else
    for (const auto& inner : braces) to = copy_nested<Rank - 1>(inner, to);
  return to;
}

/// The number of values of arange; throws ArgumentError as PyTorch does.
template <class Number>
int arange_count(Number start, Number end, Number step) {
  double count = -1;
  if constexpr (std::is_integral_v<Number>) {
    const double distance = double(end) - double(start);
    // Whole numbers below 2^63 may differ by more than they can say: the unsigned difference is exact.
    const auto gap =
        step > 0 ? std::uint64_t(end) - std::uint64_t(start) : std::uint64_t(start) - std::uint64_t(end);
    const auto stride = step > 0 ? std::uint64_t(step) : 0 - std::uint64_t(step);
    if (step != 0 && distance * double(step) >= 0) count = double(gap / stride + (gap % stride != 0));
  } else if (step != 0 && std::isfinite(start) && std::isfinite(end)) {
    count = std::ceil((end - start) / step);
  }
  if (count >= 0 && count <= std::numeric_limits<int>::max()) return int(count);
  char text[200];
  std::snprintf(text, sizeof text, "arange: from %g to %g in steps of %g: expected %s", double(start),
                double(end), double(step),
                step == 0   ? "a step that is not zero"
                : count > 0 ? "at most 2147483647 values"
                            : "finite bounds and a step that leads from one to the other");
  throw ArgumentError(text);
}
}  // namespace detail

/// Elements of type T (float, double, integers, bool), row-major, of shape S, on a device. Each device has
/// its own specialisation.
template <class T, class S, class Device = Host>
class Tensor;

/// On Host: on the heap, aligned to 64 bytes. Moving takes the elements along; what was moved from may only
/// be destroyed or assigned to. Copies are asked for by name, clone(): elements are many, and a copy that
/// nobody saw (a parameter by value, a lambda's capture) is how programs become slow. A view passes a tensor
/// on for free, and a Tensor converts to it.
template <class T, class S>
class Tensor<T, S, Host> {
  static_assert(std::is_arithmetic_v<T> && std::is_same_v<T, std::remove_cv_t<T>>, "a tensor holds numbers");
  using ExtentsOf = detail::Extents<S>;
  using Array = typename ExtentsOf::Array;
  static constexpr int unknown = detail::unknown_extents<S>();
  template <class... N>
  static constexpr bool given = detail::DynExtentsOf<S, N...>;

 public:
  using Element = T;
  using Extents = S;
  using View = TensorView<T, S>;
  using ConstView = TensorView<const T, S>;
  /// What arange counts in.
  using Number = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  static constexpr int rank = S::rank;

  /// All zeros; without arguments, dyn extents are 0: for what is assigned to later.
  Tensor() : Tensor(ExtentsOf(detail::no_extents<S>(), nullptr), nullptr) {}
  /// All zeros; dyn extents in order: Tensor<float, Shape<dyn, 3>>(n). Throws ArgumentError for a negative
  /// extent.
  template <class... N>
    requires(sizeof...(N) > 0 && given<N...>)
  explicit Tensor(N... n) : Tensor(ExtentsOf(n...), nullptr) {}
  /// From values, row-major; at most one dyn extent, which follows from their number: Tensor<float, Shape<2,
  /// 3>>{1, 2, 3, 4, 5, 6}. Throws ShapeError if their number does not fit.
  template <class U = T>  // a template: where braces fit both, {{1}, {2}}, the nested ones below win
    requires(unknown <= 1)
  Tensor(std::initializer_list<std::type_identity_t<U>> values)
      : Tensor(from(std::span<const T>(values.begin(), values.size()))) {}
  /// From values in braces as deep as the shape: Tensor<float, Shape<dyn, 3>>{{1, 2, 3}, {4, 5, 6}}. Throws
  /// ShapeError if they don't fit it.
  Tensor(typename detail::Nested<T, rank>::type values)
    requires(rank > 1)
      : Tensor(extents_of(values), nullptr) {
    detail::copy_nested<rank>(values, data());
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  template <class... N>
    requires(given<N...>)
  static Tensor zeros(N... n) {
    return Tensor(n...);
  }
  template <class... N>
    requires(given<N...>)
  static Tensor ones(N... n) {
    return full(T(1), n...);
  }
  /// Every element = value; dyn extents behind it.
  template <class... N>
    requires(given<N...>)
  static Tensor full(T value, N... n) {
    Tensor t(n...);
    t.fill(value);
    return t;
  }
  /// start, start + step, ... before end: ceil((end - start) / step) values, PyTorch's arange. Throws
  /// ArgumentError if step is 0 or leads away from end, or a value does not fit T; ShapeError if S has
  /// another extent.
  static Tensor arange(Number start, Number end, Number step = 1)
    requires(rank == 1)
  {
    const int count = detail::arange_count(start, end, step);
    Tensor t(ExtentsOf(Array{count}, nullptr), nullptr);
    for (int i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        // Unsigned: the value lies between start and end, though the product may wrap.
        const auto value = Number(std::uint64_t(start) + std::uint64_t(i) * std::uint64_t(step));
        if (!fits(value))
          throw ArgumentError(text("arange: expected values from ", std::numeric_limits<T>::min(), " to ",
                                   std::numeric_limits<T>::max(), ", got ", value));
        t.data()[i] = T(value);
      } else {
        t.data()[i] = T(start + i * step);
      }
    }
    return t;
  }
  /// 0, 1, ... before end.
  static Tensor arange(Number end)
    requires(rank == 1)
  {
    return arange(0, end);
  }
  /// From values in memory, row-major; dyn extents behind them. A single one may be left out: it follows from
  /// the number of values. Throws ShapeError if that does not fit.
  template <class... N>
    requires(given<N...> || (sizeof...(N) == 0 && unknown == 1))
  static Tensor from(std::span<const T> values, N... n) {
    Tensor t(extents_for(values.size(), n...), nullptr);
    if (t.size() != values.size()) wrong_count(t.shape(), text(t.size()), values.size());
    std::copy(values.begin(), values.end(), t.data());
    return t;
  }
  /// A copy of what a view shows, each element as static_cast<T>. Throws ShapeError if its shape is not S;
  /// one that can't be does not compile.
  template <class U, class From>
    requires(detail::may_be<From, S>())
  static Tensor copy_of(const TensorView<U, From>& v) {
    Tensor t(ExtentsOf(v.shape(), nullptr), nullptr);
    t.view().copy_from(v);
    return t;
  }
  template <class U, class From>
    requires(detail::may_be<From, S>())
  static Tensor copy_of(const Tensor<U, From, Host>& t) {
    return copy_of(t.view());
  }

  Tensor clone() const { return copy_of(view()); }
  /// A copy on another device: t.to(Cuda{0}) (needs that device's header, cuda/tensor.hpp).
  template <class Other>
  auto to(const Other& device) const {
    return view().to(device);
  }
  /// All of it, as a view that must not outlive it. A Tensor also converts to a view by itself: implicitly
  /// where the shape surely fits, explicitly where it may (see TensorView).
  View view() { return View(data(), extents_); }
  ConstView view() const { return ConstView(data(), extents_); }
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  /// The number of elements.
  std::size_t size() const { return extents_.size(); }
  /// All extents, outermost first.
  const Array& shape() const { return extents_.all(); }
  int extent(int dimension) const { return extents_[dimension]; }
  /// The elements, one after another.
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  /// Element (i, j, ...). Without NDEBUG an index outside its extent throws ArgumentError.
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  T& operator()(I... i) {
    return view()(i...);
  }
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  const T& operator()(I... i) const {
    return view()(i...);
  }
  /// The same, always checked.
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  T& at(I... i) {
    return view().at(i...);
  }
  template <std::integral... I>
    requires(int(sizeof...(I)) == rank)
  const T& at(I... i) const {
    return view().at(i...);
  }
  /// The only element. Throws ArgumentError if there are more, or none.
  T item() const { return view().item(); }
  /// Element i of a tensor of rank 1, a view of part i of any other, and of the whole in another shape: as
  /// TensorView's.
  decltype(auto) operator[](std::ptrdiff_t i) &
    requires(rank > 0)
  {
    return view()[i];
  }
  decltype(auto) operator[](std::ptrdiff_t i) const&
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
  /// Copies the elements of a view or a tensor of equal shape: as TensorView's.
  template <class Source>
  void copy_from(const Source& source) {
    view().copy_from(source);
  }
  void fill(T value) { view().fill(value); }

 private:
  Tensor(const ExtentsOf& extents, std::nullptr_t) : extents_(extents), elements_(extents_.size()) {}

  template <class... N>
  static ExtentsOf extents_for(std::size_t count, N... n) {
    if constexpr (given<N...>) {
      return ExtentsOf(n...);
    } else {  // the one dyn extent takes what the others leave
      std::size_t known = 1;
      for (int e : S::extents)
        if (e != dyn) known *= std::size_t(e);
      if (known == 0 && count == 0) return ExtentsOf(0);
      if (known == 0 || count % known != 0)
        wrong_count(S::extents, known ? text("a multiple of ", known) : "0", count);
      return ExtentsOf(count / known);
    }
  }
  static ExtentsOf extents_of(const typename detail::Nested<T, rank>::type& values) {
    Array all{};
    detail::nested_extents<rank>(values, all);
    return ExtentsOf(all, nullptr);
  }
  static constexpr bool fits(std::int64_t value) {
    if (value >= 0) return std::uint64_t(value) <= std::uint64_t(std::numeric_limits<T>::max());
    return std::is_signed_v<T> && value >= std::int64_t(std::numeric_limits<T>::min());
  }
  [[noreturn]] static void wrong_count(const Array& shape, const std::string& expected, std::size_t count) {
    throw ShapeError(
        text("a tensor of shape ", shape_string(shape), ": expected ", expected, " values, got ", count));
  }

  ExtentsOf extents_;
  host::Buffer<T> elements_;
};

}  // namespace kern
