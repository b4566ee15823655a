// Whether bytes are a text in UTF-8. Source: RFC 3629, section 4.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kern::io::detail {

constexpr bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto byte = [&](std::size_t k) { return std::uint8_t(s[i + k]); };
    const std::uint8_t first = byte(0);
    const std::size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || more >= s.size() - i) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if (byte(k) < 0x80 || byte(k) > 0xbf) return false;
    // Not longer than it must be, no half of a surrogate pair, nothing beyond U+10FFFF.
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
      return false;
    i += 1 + more;
  }
  return true;
}

}  // namespace kern::io::detail
