#include "kern/io/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using kern::io::detail::is_utf8;

namespace {
/// By the table of RFC 3629, section 3.
std::string encoded(std::uint32_t c) {
  const auto tail = [&](int shift) { return char(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xc0 | c >> 6), tail(0)};
  if (c < 0x10000) return {char(0xe0 | c >> 12), tail(6), tail(0)};
  return {char(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}
}  // namespace

TEST_CASE("every character but the surrogates, and no further ones") {
  for (std::uint32_t c = 0; c < 0x120000; ++c)
    REQUIRE(is_utf8(encoded(c)) == (c < 0x110000 && (c < 0xd800 || c > 0xdfff)));
}

TEST_CASE("texts; characters that are cut off, too long, or begin in their middle") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("größe 3 € 𝄞"));
  for (const char* wrong :
       {"\x80", "a\xbfz", "\xc3", "\xc3z", "\xe2\x82", "\xe2\x82z", "\xf0\x9d\x84", "\xff", "\xfe"})
    CHECK_FALSE(is_utf8(wrong));
  for (const char* too_long :
       {"\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x80\x80\xaf", "\xf0\x8f\xbf\xbf"})
    CHECK_FALSE(is_utf8(too_long));
}
