#include "kern/io/numbers.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace kern;
using namespace kern::io::detail;

TEST_CASE("bytes in either order") {
  const std::uint8_t b[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
  CHECK(number_at<std::uint16_t>(b) == 0x0201);
  CHECK(number_at<std::uint16_t>(b, std::endian::big) == 0x0102);
  CHECK(number_at<std::uint64_t>(b) == 0x0807060504030201u);
  const std::uint8_t one[] = {0x3f, 0x80, 0, 0};  // 1.0f
  CHECK(number_at<float>(one, std::endian::big) == 1.0f);
  data::Bytes to{9};
  append(to, std::uint32_t{0x01020304});
  append(to, 1.0f);
  CHECK(to == data::Bytes{9, 4, 3, 2, 1, 0, 0, 0x80, 0x3f});
}

TEST_CASE("every half, by IEEE 754's formula") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
    const float value = from_half(std::uint16_t(bits));
    REQUIRE(std::signbit(value) == (bits >= 32768));
    if (exponent == 31) {
      REQUIRE((fraction ? std::isnan(value) : std::isinf(value)));
    } else {
      const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
      REQUIRE(std::abs(double(value)) == size);
    }
  }
}

TEST_CASE("bfloat16 is a float's upper half") {
  CHECK(from_bfloat(0x3f80) == 1.0f);
  CHECK(from_bfloat(0xc040) == -3.0f);
  CHECK(from_bfloat(0x0001) == std::ldexp(1.0f, -133));
  CHECK(std::isinf(from_bfloat(0x7f80)));
  CHECK(std::isnan(from_bfloat(0x7fc0)));
}
