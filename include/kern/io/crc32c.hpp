// CRC-32C, Castagnoli's check sum: of TensorBoard's records. Source: RFC 3720, appendix B.4.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kern::io::detail {

inline constexpr auto crc32c_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0u);
    table[i] = c;
  }
  return table;
}();

constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t c = 0xffffffffu;
  for (const char b : bytes) c = c >> 8 ^ crc32c_table[(c ^ std::uint8_t(b)) & 255];
  return ~c;
}

}  // namespace kern::io::detail
