#include "kern/io/png.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/files.hpp"
#include "support/mutate.hpp"
#include "support/pictures.hpp"

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

TEST_CASE("Pillow's pixels: grey, palettes, opacity, interlaced") {
  const int count = each_golden_picture("/png", [](const std::string& path, const data::Bytes& pixels) {
    CAPTURE(path);
    const io::Picture p = io::decode_png(path, data::read_file(path));
    CHECK(p.height == 5);
    CHECK(p.width == 7);
    CHECK(p.pixels == pixels);
  });
  CHECK(count == 12);
}

TEST_CASE("what can't be read is named") {
  const auto message = [](data::Bytes bytes) {
    return thrown<DataError>([&] { io::decode_png("a.png", bytes); });
  };
  CHECK(message(data::read_file(golden_picture("rgb16.png"))) ==
        "a.png: cannot be read as a PNG picture: 16 bits a channel: expected at most 8");
  CHECK(message({}) == "a.png: cannot be read as a PNG picture: the file is cut off");
  CHECK(message(data::Bytes(100)) == "a.png: cannot be read as a PNG picture: Not a PNG file");
  const data::Bytes bytes = data::read_file(golden_picture("rgb.png"));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK(message({bytes.begin(), bytes.begin() + std::ptrdiff_t(n)}) != "nothing was thrown");
  }
  data::Bytes flipped = bytes;
  flipped[50] ^= 1;  // in the pixels
  CHECK(message(flipped).starts_with("a.png: cannot be read as a PNG picture: IDAT: "));
}

TEST_CASE("pictures of too many pixels are refused before there is room for them") {
  data::Bytes bytes = data::read_file(golden_picture("rgb.png"));
  const std::uint8_t size[] = {0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30}, crc[] = {0xe9, 0x45, 0x6f, 0xed};
  std::copy(std::begin(size), std::end(size), bytes.begin() + 16);
  std::copy(std::begin(crc), std::end(crc), bytes.begin() + 29);
  CHECK(thrown<DataError>([&] { io::decode_png("a.png", bytes); }) ==
        "a.png: has 30000 x 30000 pixels: expected at most 89478485 in all");
}

TEST_CASE("damaged files are read or refused") {
  std::mt19937_64 random(1);
  for (const char* name : {"palette_alpha.png", "interlaced.png"}) {
    const data::Bytes bytes = data::read_file(golden_picture(name));
    for (int i = 0; i < 500; ++i) {
      const data::Bytes damaged = mutate(bytes, random);
      try {
        const io::Picture p = io::decode_png("a.png", damaged);
        REQUIRE(p.pixels.size() == std::size_t(p.height) * std::size_t(p.width) * 3);
      } catch (const DataError& e) {
        REQUIRE(std::string(e.what()).starts_with("a.png: "));
      }
    }
  }
}
