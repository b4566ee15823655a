#include "kern/io/resize.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "support/files.hpp"
#include "support/pictures.hpp"

using namespace kern;
using namespace kern::testing;

TEST_CASE("torchvision's Resize of a picture by Pillow, to the bit") {
  const io::Picture noise = golden_ppm("noise");
  using Size = std::pair<int, int>;
  for (const Size& size : {Size{21, 34}, {8, 8}, {21, 5}, {50, 34}, {43, 60}, {1, 1}, {30, 11}}) {
    const io::Picture p = io::resize(noise, size.first, size.second);
    const std::string name = text("resize_", size.first, "_", size.second);
    CAPTURE(name);
    CHECK(p.height == size.first);
    CHECK(p.width == size.second);
    CHECK(p.pixels == golden_ppm(name).pixels);
  }
}

TEST_CASE("Resize and CenterCrop, for pictures that are wider and higher") {
  const io::Picture noise = golden_ppm("noise");
  for (const int n : {8, 21, 30}) {
    const io::Picture p = io::resize_and_crop(noise, n, n);
    CAPTURE(n);
    CHECK(p.height == n);
    CHECK(p.width == n);
    CHECK(p.pixels == golden_ppm(text("fill_", n, "_", n)).pixels);
  }
  // From one of a single colour, whose size alone matters.
  const io::Picture high{8, 2, data::Bytes(48, 7)}, middle = io::resize_and_crop(high, 2, 4);
  CHECK(middle.height == 2);
  CHECK(middle.width == 4);
  CHECK(middle.pixels == data::Bytes(24, 7));
}

TEST_CASE("sizes that can't be") {
  const io::Picture p{1, 1'000'000, data::Bytes(3'000'000)};
  CHECK(thrown<ArgumentError>([&] { io::resize(p, 0, 3); }) ==
        "resize: expected 1 x 1 to 89478485 pixels in all, got 0 x 3");
  CHECK(thrown<ArgumentError>([&] { io::resize_and_crop(p, 64, 64); }) ==
        "resize: expected 1 x 1 to 89478485 pixels in all, got 64 x 64000000");
}
