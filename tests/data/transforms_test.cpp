#include "kern/data/transforms.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "support/data_golden.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Compose;
using data::Image;
using data::Normalize;
using data::ToTensor;
using data::TransformDraw;

namespace {
template <class Transform>
std::vector<float> apply(const Transform& t, int channels, int h, int w,
                         const std::vector<std::uint8_t>& bytes, const TransformDraw& draw = {}) {
  std::vector<float> out(bytes.size(), -1);
  Image image{channels, h, w, bytes.data(), out.data()};
  t(image, draw);
  CHECK(image.bytes == nullptr);
  return out;
}
std::vector<std::uint8_t> all_bytes() {
  std::vector<std::uint8_t> b(256);
  for (std::size_t i = 0; i < 256; ++i) b[i] = std::uint8_t(i);
  return b;
}
void check_bits(const std::vector<float>& got, const std::string& name) {
  CAPTURE(name);
  const auto expected = golden_words(name, 16);
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::bit_cast<std::uint32_t>(got[i]) == expected[i]);
  }
}
}  // namespace

TEST_CASE("torchvision's bits, for every byte") {
  check_bits(apply(ToTensor{}, 1, 16, 16, all_bytes()), "unit");
  check_bits(apply(Compose{ToTensor{}, Normalize{0.1307f, 0.3081f}}, 1, 16, 16, all_bytes()), "normalized");
}

TEST_CASE("torchvision's bits and order of a colour image") {
  std::vector<std::uint8_t> rgb(5 * 7 * 3);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = std::uint8_t(37 * i + 11);
  const Normalize imagenet({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});
  check_bits(apply(Compose{ToTensor{}, imagenet}, 3, 5, 7, rgb), "rgb");
}

TEST_CASE("one mean and deviation serve all channels") {
  const std::vector<std::uint8_t> rgb = all_bytes();
  const std::vector<float> a = apply(Compose{ToTensor{}, Normalize{0.5f, 0.25f}}, 2, 8, 16, rgb);
  CHECK(a == apply(Compose{ToTensor{}, Normalize({0.5f, 0.5f}, {0.25f, 0.25f})}, 2, 8, 16, rgb));
  CHECK(a != apply(Compose{ToTensor{}, Normalize({0.5f, 0.5f}, {0.25f, 0.5f})}, 2, 8, 16, rgb));
}

TEST_CASE("what can't be normalised or doesn't come in order is refused") {
  const auto message = [](auto f) { return thrown<ArgumentError>(f); };
  CHECK(message([] { Normalize(0.5f, 0.0f); }) ==
        "Normalize: a standard deviation must be finite and > 0, got 0");
  CHECK(message([] { Normalize(0.5f, -1.0f); }) ==
        "Normalize: a standard deviation must be finite and > 0, got -1");
  CHECK(message([] { Normalize(0.5f, std::numeric_limits<float>::quiet_NaN()); }).find("got nan") !=
        std::string::npos);
  CHECK(message([] { Normalize(std::numeric_limits<float>::infinity(), 1.0f); }) ==
        "Normalize: a mean must be finite, got inf");
  CHECK(message([] { Normalize({0.5f, 0.5f}, {1.0f, 1.0f, 1.0f}); }) ==
        "Normalize: expected as many deviations as means, at least 1, got 2 means and 3 deviations");
  CHECK(message([] { Normalize(std::vector<float>{}, std::vector<float>{}); }).find("got 0 means") !=
        std::string::npos);
  CHECK(message([] {
          apply(Compose{ToTensor{}, Normalize({0.5f, 0.5f}, {1.0f, 1.0f})}, 4, 8, 8, all_bytes());
        }) == "Normalize: expected a mean for each of 4 channels, got 2");
  CHECK(message([] { apply(Normalize{0.5f, 1.0f}, 1, 16, 16, all_bytes()); }) ==
        "Normalize: the image is bytes: expected a ToTensor before it");
  CHECK(message([] { apply(Compose{ToTensor{}, ToTensor{}}, 1, 16, 16, all_bytes()); }) ==
        "ToTensor: the image is floats already: expected it first in a Compose");
}

namespace {
/// Writes the draw over the image: sees what a random transform would.
struct Noise {
  void operator()(Image& image, const TransformDraw& draw) const {
    for (std::size_t i = 0; i < image.size(); ++i)
      image.values[i] += rng::uniform(draw.block(std::uint32_t(i / 4))[i % 4]);
  }
};
}  // namespace

TEST_CASE("random transforms: numbers of their own for seed, epoch, sample and place, and nothing else") {
  const std::vector<std::uint8_t> black(16);
  const auto noise = [&](TransformDraw draw) {
    return apply(Compose{ToTensor{}, Noise{}}, 1, 4, 4, black, draw);
  };
  const TransformDraw draw{Seed{5}, 2, 9};
  const auto a = noise(draw);
  CHECK(a == noise(draw));
  CHECK(a != noise({Seed{6}, 2, 9}));
  CHECK(a != noise({Seed{5}, 3, 9}));
  CHECK(a != noise({Seed{5}, 2, 10}));
  // Twice the same transform: not the same numbers twice; not those of one in a Compose of its own either.
  const auto second =
      apply(Compose{ToTensor{}, [](Image&, const TransformDraw&) {}, Noise{}}, 1, 4, 4, black, draw);
  CHECK(a != second);
  const auto inner = apply(Compose{ToTensor{}, Compose{Noise{}}}, 1, 4, 4, black, draw);
  CHECK(a != inner);
  CHECK(second != inner);
  // By the formula: place 2 of the Compose, group 0.
  const auto block = rng::draw(Seed{5}, rng::Stream::transform, 2, 2, 0, 9);
  CHECK(a[1] == rng::uniform(block[1]));
}
