#include "kern/data/augment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/data_golden.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Compose;
using data::Image;
using data::RandomCrop;
using data::RandomErasing;
using data::ToTensor;
using data::TransformDraw;

namespace {

/// A picture of 5 x 7 pixels whose byte number i is (37 i + 11) mod 256, with room to change.
struct Picture {
  std::vector<std::uint8_t> bytes, copy;
  std::vector<float> values;
  Image image;
  explicit Picture(int channels = 3, int h = 5, int w = 7) : image{channels, h, w, nullptr, nullptr} {
    bytes.resize(image.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(37 * i + 11);
    copy.resize(bytes.size());
    values.resize(bytes.size());
    image = {channels, h, w, bytes.data(), values.data(), copy.data()};
  }
};
/// Before ToTensor, and after it as bytes in the same order.
template <class Change>
std::vector<std::uint32_t> changed(Change change) {
  Picture a, b;
  change(a.image);
  REQUIRE(a.image.bytes == a.copy.data());
  const std::vector<std::uint32_t> before(a.image.bytes, a.image.bytes + a.image.size());
  ToTensor{}(b.image, {});
  for (float& v : b.values) v *= 255;
  change(b.image);
  REQUIRE(b.image.size() == before.size());
  for (std::size_t p = 0; p < b.image.area(); ++p)
    for (std::size_t c = 0; c < 3; ++c)
      REQUIRE(std::uint32_t(b.values[c * b.image.area() + p] + 0.5f) == before[3 * p + c]);
  CHECK(Picture{}.bytes == a.bytes);
  return before;
}

/// Calls f with n draws of a random transform, of a picture of the numbers 1, 2, ...
template <class Change, class F>
void draws(int n, const Change& change, int size, F f) {
  std::vector<float> values(std::size_t(size * size));
  for (int i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < values.size(); ++p) values[p] = float(p + 1);
    Image image{1, size, size, nullptr, values.data()};
    change(image, TransformDraw{Seed{7}, std::uint32_t(i % 10), std::uint32_t(i / 10)});
    f(values);
  }
}

}  // namespace

TEST_CASE("crops, flips and erased parts are torchvision's, before ToTensor and after it") {
  const int places[][4] = {{0, 0, 5, 7}, {4, 4, 5, 7}, {1, 3, 5, 7}, {3, 1, 5, 7}, {2, 2, 5, 7},
                           {0, 8, 3, 3}, {6, 0, 3, 3}, {3, 4, 2, 3}, {0, 0, 5, 1}};
  for (const auto& [top, left, height, width] : places) {
    const std::string name = text("crop_", top, "_", left, "_", height, "_", width);
    CAPTURE(name);
    CHECK(changed([&](Image& i) { data::crop(i, top - 2, left - 2, height, width, 9); }) ==
          golden_words(name, 10));
  }
  CHECK(changed(data::hflip) == golden_words("hflip", 10));
  CHECK(changed(data::vflip) == golden_words("vflip", 10));
  const auto center = [](auto transform) { return changed([&](Image& i) { transform(i, {}); }); };
  CHECK(center(data::CenterCrop<4>{}) == golden_words("center_4_4", 10));
  CHECK(center(data::CenterCrop<2>{}) == golden_words("center_2_2", 10));
  CHECK(center(data::CenterCrop<Size2{5, 3}>{}) == golden_words("center_5_3", 10));
  CHECK(center(data::CenterCrop<Size2{1, 6}>{}) == golden_words("center_1_6", 10));
  Picture p;
  ToTensor{}(p.image, {});
  for (float& v : p.values) v *= 255;
  data::erase(p.image, 1, 2, 3, 4, 7);
  const auto erased = golden_words("erase", 10);
  for (std::size_t i = 0; i < erased.size(); ++i) CHECK(std::uint32_t(p.values[i] + 0.5f) == erased[i]);
}

TEST_CASE("far outside there is nothing but what fills") {
  using Place = std::pair<int, int>;
  for (const Place& at : {Place{100, 0}, {-100, 0}, {0, 2147483647}, {-2147483647, -2147483647}}) {
    const auto all = changed([at](Image& i) { data::crop(i, at.first, at.second, 5, 7, 3); });
    CHECK(all == std::vector<std::uint32_t>(105, 3));
  }
}

TEST_CASE("each place of a crop is as likely, and only those of the padded image") {
  int count[5][5] = {};
  draws(5000, RandomCrop<9>{.padding = 2}, 9, [&](const std::vector<float>& v) {
    // The pixel that is now in the middle was at (i, j) before: the crop began at (i - 4, j - 4).
    const int at = int(v[4 * 9 + 4]) - 1, i = at / 9 - 2, j = at % 9 - 2;
    REQUIRE((i >= 0 && i < 5 && j >= 0 && j < 5));
    ++count[i][j];
  });
  double chi2 = 0;
  for (const auto& row : count)
    for (int c : row) chi2 += (c - 200.0) * (c - 200.0) / 200;
  // 24 degrees of freedom: mean 24, deviation sqrt(48) = 6.9.
  CHECK(chi2 < 24 + 5 * 6.9);
  CHECK(chi2 > 24 - 3 * 6.9);
}

TEST_CASE("what has probability p is done that often") {
  const auto share = [](auto transform) {
    int done = 0;
    draws(4000, transform, 4, [&](const std::vector<float>& v) { done += v[0] != 1 || v[5] != 6; });
    return done / 4000.0;
  };
  // Deviation of a share: sqrt(p (1 - p) / 4000), at most 0.0079.
  CHECK(std::abs(share(data::RandomHorizontalFlip{}) - 0.5) < 0.03);
  CHECK(std::abs(share(data::RandomVerticalFlip{.p = 0.1f}) - 0.1) < 0.02);
  CHECK(share(data::RandomVerticalFlip{.p = 0}) == 0);
  CHECK(share(data::RandomHorizontalFlip{.p = 1}) == 1);
  CHECK(share(RandomErasing{.p = 0, .scale = {0.5, 0.5}}) == 0);
  CHECK(share(RandomErasing{.scale = {1, 1}, .ratio = {1, 1}}) == 0);  // as large as the image: not possible
}

TEST_CASE("rectangles that are erased are spread as torchvision's") {
  // Means of height, width, area, top and left; deviations of one from torchvision's.
  double sum[5] = {};
  const double deviation[5] = {6.2, 6.2, 92, 6.6, 6.6};
  const int n = 10000;
  draws(n, RandomErasing{.p = 1}, 32, [&](const std::vector<float>& v) {
    int top = 32, left = 32, bottom = 0, right = 0, area = 0;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) {
        if (v[std::size_t(32 * y + x)] != 0) continue;
        top = std::min(top, y), left = std::min(left, x), bottom = std::max(bottom, y + 1),
        right = std::max(right, x + 1);
        ++area;
      }
    REQUIRE(area == (bottom - top) * (right - left));
    const int found[5] = {bottom - top, right - left, area, top, left};
    for (int i = 0; i < 5; ++i) sum[i] += found[i];
  });
  const auto golden = golden_words("erasing", 10);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(std::abs(sum[i] / n - golden[i] / 1000.0) < 4 * deviation[i] / std::sqrt(n));
  }
}

TEST_CASE("draws are the transform's own: seed, epoch, sample and place") {
  const auto run = [](const auto& transform, TransformDraw draw) {
    Picture p(1, 32, 32);
    transform(p.image, draw);
    return p.values;
  };
  const Compose crop{ToTensor{}, RandomCrop<32>{.padding = 20}};
  const auto a = run(crop, {Seed{1}, 2, 3});
  CHECK(a == run(crop, {Seed{1}, 2, 3}));
  CHECK(a != run(crop, {Seed{2}, 2, 3}));
  CHECK(a != run(crop, {Seed{1}, 3, 3}));
  CHECK(a != run(crop, {Seed{1}, 2, 4}));
  CHECK(a != run(Compose{RandomCrop<32>{.padding = 20}, ToTensor{}}, {Seed{1}, 2, 3}));
  const RandomErasing erasing{.p = 1};
  CHECK(run(Compose{ToTensor{}, erasing}, {}) != run(Compose{ToTensor{}, Compose{erasing}}, {}));
}

TEST_CASE("arguments that can't be") {
  const auto message = [](auto transform) {
    return thrown<ArgumentError>([&] {
      Picture p;
      transform(p.image, TransformDraw{});
    });
  };
  CHECK(message(RandomCrop<3>{.padding = -1}) == "RandomCrop: padding must be 0 to 1048576, got -1");
  CHECK(message(RandomCrop<6>{.padding = 4}) == "RandomCrop: expected an image of at least 6 x 6, got 5 x 7");
  CHECK(message(RandomCrop<5>{.padding = 4, .fill = 0.5f}) ==
        "a value to fill an image of bytes: expected a whole one of 0 to 255, got 0.5");
  CHECK(message(RandomErasing{.p = 1, .value = 256}).find("got 256") != std::string::npos);
  CHECK(message(data::CenterCrop<Size2{5, 8}>{}) == "crop: expected 1 x 1 to 5 x 7, got 5 x 8");
  CHECK(message(data::RandomHorizontalFlip{.p = 1.5f}) == "RandomHorizontalFlip: p must be 0 to 1, got 1.5");
  CHECK(message(RandomErasing{.p = -1}) == "RandomErasing: p must be 0 to 1, got -1");
  CHECK(message(RandomErasing{.scale = {0.5, 0.2}}) ==
        "RandomErasing: scale must be a range within 0 to 1, got 0.5 to 0.2");
  CHECK(message(RandomErasing{.ratio = {0, 1}}) ==
        "RandomErasing: ratio must be a range above 0, got 0 to 1");
  CHECK(message([](Image& i, const TransformDraw&) { data::erase(i, 3, 0, 3, 1); }) ==
        "erase: expected a part of an image of 5 x 7, got 3 x 1 at (3, 0)");
  CHECK(message([](Image& i, const TransformDraw&) {
          i.copy = nullptr;
          data::hflip(i);
        }) == "a transform changes an image's bytes, but there is no room for a copy");
}
