#include "kern/io/jpeg.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "support/files.hpp"
#include "support/mutate.hpp"
#include "support/pictures.hpp"

using namespace kern;
using namespace kern::testing;

TEST_CASE("Pillow's pixels: grey, every subsampling, progressive") {
  const int count = each_golden_picture("/jpeg", [](const std::string& path, const data::Bytes& pixels) {
    CAPTURE(path);
    const io::Picture p = io::decode_jpeg(path, data::read_file(path));
    CHECK(p.height == 21);
    CHECK(p.width == 35);
    CHECK(p.pixels == pixels);
  });
  CHECK(count == 5);
}

TEST_CASE("what can't be read is named") {
  const auto message = [](data::Bytes bytes) {
    return thrown<DataError>([&] { io::decode_jpeg("a.jpg", bytes); });
  };
  CHECK(message(data::read_file(golden_picture("cmyk.jpg"))) ==
        "a.jpg: cannot be read as a JPEG picture: it is in CMYK: expected grey or red, green, blue");
  CHECK(message({}).starts_with("a.jpg: cannot be read as a JPEG picture: "));
  data::Bytes bytes = data::read_file(golden_picture("jpeg_420.jpg"));
  // In the frame's header behind the marker ff c0, its length and precision: height and width.
  const std::uint8_t frame[] = {0xff, 0xc0, 0, 17, 8};
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(frame), std::end(frame)) + 5;
  data::Bytes huge = bytes;
  std::fill_n(huge.begin() + (at - bytes.begin()), 4, std::uint8_t{0xfe});
  CHECK(message(huge) == "a.jpg: has 65278 x 65278 pixels: expected at most 89478485 in all");
  bytes.resize(bytes.size() / 2);
  CHECK(message(bytes).starts_with("a.jpg: cannot be read as a JPEG picture: "));
}

TEST_CASE("damaged files are read or refused") {
  const data::Bytes bytes = data::read_file(golden_picture("jpeg_progressive.jpg"));
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const data::Bytes damaged = mutate(bytes, random);
    try {
      const io::Picture p = io::decode_jpeg("a.jpg", damaged);
      REQUIRE(p.pixels.size() == std::size_t(p.height) * std::size_t(p.width) * 3);
    } catch (const DataError& e) {
      REQUIRE(std::string(e.what()).starts_with("a.jpg: "));
      ++refused;
    }
  }
  CHECK(refused > 250);
}
