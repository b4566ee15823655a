#include "kern/io/crc32c.hpp"

#include <doctest/doctest.h>

#include <string>

using kern::io::detail::crc32c;

TEST_CASE("RFC 3720's examples") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  std::string up, down;
  for (char i = 0; i < 32; ++i) up += i, down += char(31 - i);
  CHECK(crc32c(up) == 0x46dd794eu);
  CHECK(crc32c(down) == 0x113fdb5cu);
  static_assert(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c("") == 0);
}
