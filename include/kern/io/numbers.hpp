// Numbers as files hold them.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../data/file.hpp"

namespace kern::io::detail {

/// The T whose bytes begin at p, in this order.
template <class T>
T number_at(const std::uint8_t* p, std::endian order = std::endian::little) {
  std::array<std::uint8_t, sizeof(T)> b;
  std::copy_n(p, sizeof(T), b.begin());
  if (order != std::endian::native) std::reverse(b.begin(), b.end());
  return std::bit_cast<T>(b);
}
/// Adds the bytes of n, the lowest first.
template <class T>
void append(data::Bytes& to, T n) {
  auto b = std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(n);
  if (std::endian::native != std::endian::little) std::reverse(b.begin(), b.end());
  to.insert(to.end(), b.begin(), b.end());
}

/// The number that IEEE 754's binary16 has in these bits: sign, 5 bits of exponent, 10 of fraction.
inline float from_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u,
                      fraction = bits & 0x3ffu;
  if (exponent == 0) {  // 0 and the subnormals
    const float value = float(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13);
}
/// bfloat16: the upper half of a float.
inline float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace kern::io::detail
