// A picture in another size.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/error.hpp"
#include "picture.hpp"

namespace kern::io {

namespace detail {

/// Which old pixels make a new one, along one side: `weights` from `first` on, in 2^-22.
struct Taps {
  std::size_t first;
  std::vector<std::int32_t> weights;
};
constexpr int tap_bits = 22;

/// A triangle over as many pixels as one covers, at least one to each side.
inline std::vector<Taps> taps(int from, int to) {
  const double scale = double(from) / to, reach = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(int(center - reach + 0.5), 0),
              last = std::min(int(center + reach + 0.5), from);
    std::vector<double> triangle;
    double sum = 0;
    for (int x = first; x < last; ++x) {
      triangle.push_back(std::max(1 - std::abs((x - center + 0.5) / reach), 0.0));
      sum += triangle.back();
    }
    Taps& t = all.emplace_back(Taps{std::size_t(first), {}});
    for (const double w : triangle) t.weights.push_back(std::int32_t(0.5 + w / sum * (1 << tap_bits)));
  }
  return all;
}
/// to[d] = the taps' sums over from[k * stride + d], d < N.
template <std::size_t N>
void sum_taps(const Taps& t, const std::uint8_t* from, std::size_t stride, std::uint8_t* to) {
  std::int32_t sum[N];
  std::fill_n(sum, N, 1 << (tap_bits - 1));
  for (const std::int32_t weight : t.weights) {
    for (std::size_t d = 0; d < N; ++d) sum[d] += weight * from[d];
    from += stride;
  }
  for (std::size_t d = 0; d < N; ++d) to[d] = std::uint8_t(std::min(sum[d] >> tap_bits, 255));
}
/// to[r][i][p] = the taps' sums over from[r][.][p]: `depth` neighbouring pixels are treated alike.
inline data::Bytes along(const data::Bytes& from, std::size_t rows, int old_size, int new_size,
                         std::size_t depth) {
  if (old_size == new_size) return from;
  constexpr std::size_t pixel = 3, many = 8 * pixel;  // bytes
  const std::size_t stride = depth * pixel;
  const std::vector<Taps> all = taps(old_size, new_size);
  data::Bytes bytes(rows * all.size() * stride);
  std::uint8_t* to = bytes.data();
  for (std::size_t r = 0; r < rows; ++r)
    for (const Taps& t : all) {
      const std::uint8_t* const first = from.data() + (r * std::size_t(old_size) + t.first) * stride;
      std::size_t d = 0;
      for (; d + many <= stride; d += many) sum_taps<many>(t, first + d, stride, to + d);
      for (; d < stride; d += pixel) sum_taps<pixel>(t, first + d, stride, to + d);
      to += stride;
    }
  return bytes;
}

}  // namespace detail

/// The picture in height x width pixels, by bilinear interpolation that takes all pixels into account where
/// it becomes smaller: Pillow's resize with BILINEAR, and so torchvision's Resize, to the bit. Throws
/// ArgumentError for no pixels or more than max_pixels.
inline Picture resize(const Picture& from, std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1 || std::uint64_t(height) > max_pixels / std::uint64_t(width))
    throw ArgumentError(
        text("resize: expected 1 x 1 to ", max_pixels, " pixels in all, got ", height, " x ", width));
  const int h = int(height), w = int(width);
  const data::Bytes wide = detail::along(from.pixels, std::size_t(from.height), from.width, w, 1);
  return {h, w, detail::along(wide, 1, from.height, h, std::size_t(w))};
}

/// The middle of the picture, resized so that it just fills height x width pixels: torchvision's Resize(n)
/// and CenterCrop(n) where both are n.
inline Picture resize_and_crop(const Picture& from, int height, int width) {
  const std::int64_t wide = std::int64_t{from.width} * height, high = std::int64_t{from.height} * width;
  const Picture whole =
      wide > high ? resize(from, height, wide / from.height) : resize(from, high / from.width, width);
  const auto half = [](int n) { return std::size_t(std::nearbyint(n / 2.0)); };
  const std::size_t top = half(whole.height - height), left = half(whole.width - width);
  Picture middle{height, width, {}};
  for (std::size_t y = top; y < top + std::size_t(height); ++y) {
    const auto row = whole.pixels.begin() + std::ptrdiff_t((y * std::size_t(whole.width) + left) * 3);
    middle.pixels.insert(middle.pixels.end(), row, row + width * 3);
  }
  return middle;
}

}  // namespace kern::io
