// The element types of safetensors files, and elements of them as ours.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "numbers.hpp"

namespace kern::io::detail {

struct Dtype {
  std::string_view name;
  std::size_t bits;
};
/// In safetensors' own order, by alignment: its library stores tensors of the last ones first.
inline constexpr Dtype dtypes[] = {{"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
                                   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
                                   {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
                                   {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};

/// The number of a dtype in `dtypes`, or their count.
inline std::size_t dtype_number(std::string_view name) {
  return std::size_t(std::ranges::find(dtypes, name, &Dtype::name) - std::begin(dtypes));
}

/// What safetensors calls T.
template <class T>
constexpr std::string_view dtype_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  constexpr std::size_t size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  if constexpr (std::is_same_v<T, bool>)
    return "BOOL";
  else if constexpr (std::is_floating_point_v<T>)
    return size == 2 ? "F32" : "F64";
  else
    return std::array<std::string_view, 8>{
        "U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64"}[size + (std::is_signed_v<T> ? 4 : 0)];
}

/// Whether elements of this dtype can be read as T: floating-point numbers as any of these, others as
/// themselves.
template <class T>
bool readable(std::string_view dtype) {
  if (dtype == dtype_of<T>()) return true;
  return std::is_floating_point_v<T> &&
         (dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16");
}
/// What readable<T> takes, for messages.
template <class T>
std::string_view readable_names() {
  return std::is_floating_point_v<T> ? "F64, F32, F16 or BF16" : dtype_of<T>();
}

/// Writes elements of a dtype that is readable<T> to `out`, as static_cast<T> makes them.
template <class T, class Out>
void decode(std::string_view dtype, std::span<const std::uint8_t> bytes, Out&& out) {
  const auto each = [&]<class Stored>(Stored, auto value) {
    for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i)
      out[i] = static_cast<T>(value(number_at<Stored>(bytes.data() + i * sizeof(Stored))));
  };
  const auto same = [](auto x) { return x; };
  if constexpr (std::is_same_v<T, bool>) {
    each(std::uint8_t{}, [](std::uint8_t x) { return x != 0; });  // any other bits in a bool are undefined
  } else if constexpr (!std::is_floating_point_v<T>) {
    each(T{}, same);
  } else {
    if (dtype == "F64") each(double{}, same);
    if (dtype == "F32") each(float{}, same);
    if (dtype == "F16") each(std::uint16_t{}, from_half);
    if (dtype == "BF16") each(std::uint16_t{}, from_bfloat);
  }
}

}  // namespace kern::io::detail
