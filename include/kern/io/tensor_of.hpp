// What a file says of a tensor, and a tensor for it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "../core/error.hpp"
#include "../tensor/tensor.hpp"

namespace kern::io::detail {

/// The number of bytes of a tensor whose elements have `bits`, or false if 64 bits can't count those, or they
/// don't end with a byte.
inline bool count_bytes(std::span<const std::int64_t> shape, std::size_t bits, std::uint64_t& bytes) {
  std::uint64_t n = bits;
  for (const std::int64_t e : shape)
    if (e == 0) n = 0;
  for (const std::int64_t e : shape)
    if (__builtin_mul_overflow(n, std::uint64_t(e), &n)) return false;
  bytes = n / 8;
  return n % 8 == 0;
}

/// All zeros, of this shape. Throws ShapeError that begins with `what` if S can't have it.
template <class T, class S>
Tensor<T, S> tensor_of(std::span<const std::int64_t> shape, std::string_view what) {
  bool fits = shape.size() == std::size_t(S::rank);
  std::array<int, std::size_t(kern::detail::unknown_extents<S>())> unknown{};
  std::size_t n = 0;
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = S::extents[i] == dyn ? shape[i] <= INT32_MAX : shape[i] == S::extents[i];
    if constexpr (unknown.size() > 0)
      if (S::extents[i] == dyn) unknown[n++] = int(shape[i]);
  }
  if (!fits)
    throw ShapeError(text(what, "expected shape ", shape_string(S::extents), ", got ", shape_string(shape)));
  return std::apply([](auto... e) { return Tensor<T, S>(e...); }, unknown);
}

}  // namespace kern::io::detail
