// Generated pictures, for programs and tests that have no data set.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "../core/philox.hpp"
#include "dataset.hpp"

namespace kern::data {

/// Generated pictures of CIFAR-10's size in ten classes, the shape that is in them. Its place, its size, both
/// colours and the noise on every byte differ from picture to picture, and say nothing about the class: a net
/// has to learn the shapes. Picture i depends on the seed, the split and i alone, in whole numbers: the same
/// bytes on every machine. There are as many of each class, in turn: a loader shuffles.
class SyntheticShapes {
 public:
  using Sample = Shape<3, 32, 32>;
  static constexpr int classes() { return 10; }
  static constexpr const char* class_names[] = {"disk",     "ring", "square", "frame",       "diamond",
                                                "triangle", "plus", "cross",  "bars across", "bars along"};

  /// `size` pictures, below 2^32.
  explicit SyntheticShapes(std::size_t size, Split split = Split::train, Seed seed = {})
      : size_(size), split_(split), seed_(seed) {}

  std::size_t size() const { return size_; }
  Record get(std::size_t i) const {
    const auto draw = [&](std::uint32_t group) {
      return rng::draw(seed_, rng::Stream::picture, std::uint32_t(split_), 0, group, std::uint32_t(i));
    };
    const int label = int(i % 10);
    const rng::Block place = draw(0), around = draw(1), own = draw(2);
    const int r = 6 + below(place[0], 5), cx = 12 + below(place[1], 8), cy = 12 + below(place[2], 8);
    int colours[2][3];  // around the shape, and its own, which is brighter
    for (std::size_t c = 0; c < 3; ++c) {
      colours[0][c] = 16 + below(around[c], 112);
      colours[1][c] = 128 + below(own[c], 112);
    }
    auto to = pixels_.begin();
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        for (const int c : colours[inside(label, x - cx, y - cy, r)]) *to++ = std::uint8_t(c);
    for (std::size_t k = 0; k < pixels_.size(); k += 16) {
      const rng::Block noise = draw(std::uint32_t(3 + k / 16));
      for (std::size_t b = 0; b < 16; ++b) {
        const int n = int(noise[b / 4] >> 8 * (b % 4) & 255) - 128;
        pixels_[k + b] = std::uint8_t(std::clamp(pixels_[k + b] + n * noise_amplitude / 128, 0, 255));
      }
    }
    return {pixels_, label};
  }

 private:
  static constexpr int noise_amplitude = 48;

  /// 0 to n - 1, of a 32-bit number.
  static constexpr int below(std::uint32_t number, std::uint64_t n) { return int(number * n >> 32); }
  /// Whether (x, y), from the middle of a shape of radius r to the right and down, is in it.
  static bool inside(int label, int x, int y, int r) {
    const int h = std::abs(x), v = std::abs(y), most = std::max(h, v), d = x * x + y * y;
    const bool in[] = {d <= r * r,
                       d <= r * r && 3 * d >= r * r,
                       most < r,
                       most < r && 2 * most >= r,
                       h + v <= r,
                       v < r && 2 * h <= y + r,
                       most < r && 4 * std::min(h, v) <= r,
                       most < r && 3 * std::abs(h - v) <= r,
                       most < r && (y + r) / 2 % 2 == 0,
                       most < r && (x + r) / 2 % 2 == 0};
    return in[label];
  }

  std::size_t size_;
  Split split_;
  Seed seed_;
  mutable std::array<std::uint8_t, 3 * 32 * 32> pixels_{};  // of the last get()
};

}  // namespace kern::data
