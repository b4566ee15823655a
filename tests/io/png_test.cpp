#include "kern/io/png.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;

TEST_CASE("signature and header as the standard says; libpng reads the bytes back") {
  for (int channels : {1, 3, 4}) {
    const int height = 5, width = 7;
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < height * width * channels; ++i) bytes.push_back(std::uint8_t(37 * i + 11));
    const std::string png = io::encode_png(height, width, channels, bytes);
    REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    const char color = channels == 1 ? 0 : channels == 3 ? 2 : 6;
    CHECK(png.substr(8, 21) ==
          std::string("\0\0\0\15IHDR\0\0\0\7\0\0\0\5\10", 17) + std::string{color, 0, 0, 0});

    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    REQUIRE(png_image_begin_read_from_memory(&image, png.data(), png.size()));
    CHECK(int(image.width) == width);
    CHECK(int(image.height) == height);
    REQUIRE(int(PNG_IMAGE_SAMPLE_CHANNELS(image.format)) == channels);
    std::vector<std::uint8_t> back(bytes.size());
    REQUIRE(png_image_finish_read(&image, nullptr, back.data(), 0, nullptr));
    CHECK(back == bytes);
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
