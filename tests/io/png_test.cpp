#include "kern/io/png.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "kern/data/file.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;

namespace {
std::uint32_t number(const std::string& s, std::size_t at) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < 4; ++i) n = n << 8 | std::uint8_t(s[at + i]);
  return n;
}
}  // namespace

TEST_CASE("signature, header, rows, end: as the standard says, and zlib unpacks it") {
  for (int channels : {1, 3, 4}) {
    const int height = 5, width = 7;
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < height * width * channels; ++i) bytes.push_back(std::uint8_t(37 * i + 11));
    const std::string png = io::encode_png(height, width, channels, bytes);
    REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    std::vector<std::string> names;
    std::string data;
    std::size_t at = 8;
    while (at < png.size()) {
      const std::size_t n = number(png, at);
      REQUIRE(at + 12 + n <= png.size());
      const std::string body = png.substr(at + 4, 4 + n);
      CHECK(number(png, at + 8 + n) ==
            crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size())));
      names.push_back(body.substr(0, 4));
      if (names.back() == "IHDR") {
        const char color = channels == 1 ? 0 : channels == 3 ? 2 : 6;
        CHECK(body.substr(4) == std::string("\0\0\0\7\0\0\0\5\10", 9) + std::string{color, 0, 0, 0});
      }
      if (names.back() == "IDAT") data = body.substr(4);
      at += 12 + n;
    }
    CHECK(names == std::vector<std::string>{"IHDR", "IDAT", "IEND"});
    const std::size_t row = std::size_t(width * channels);
    std::vector<std::uint8_t> rows((row + 1) * std::size_t(height) + 1);
    uLongf size = uLongf(rows.size());
    REQUIRE(uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(data.data()), uLong(data.size())) ==
            Z_OK);
    REQUIRE(size == rows.size() - 1);
    for (std::size_t y = 0; y < std::size_t(height); ++y) {
      CHECK(rows[y * (row + 1)] == 0);
      for (std::size_t x = 0; x < row; ++x) REQUIRE(rows[y * (row + 1) + 1 + x] == bytes[y * row + x]);
    }
  }
}

TEST_CASE("what is no picture") {
  const std::vector<std::uint8_t> bytes(12);
  const auto message = [&](int h, int w, int c) {
    return thrown<ArgumentError>([&] { io::encode_png(h, w, c, bytes); });
  };
  CHECK(message(2, 3, 2) ==
        "a picture: expected 1, 3 or 4 channels and at least a pixel, got 2 channels, height 2, width 3");
  CHECK(message(0, 3, 1).find("height 0") != std::string::npos);
  CHECK(message(2, 3, 1) == "a picture of 2 x 3 x 1: got 12 bytes");
  CHECK(message(5, 1, 3) == "a picture of 5 x 1 x 3: got 12 bytes");
}
