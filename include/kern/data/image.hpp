// A picture between the data set and the net, and what transforms do to it:
// torchvision.transforms.functional's names and meaning.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "../core/error.hpp"

namespace kern::data {

/// A picture on its way: as the file has it, [height][width][channels] bytes, until ToTensor;
/// [channels][height][width] floats after it. It may become smaller, not larger.
struct Image {
  int channels, height, width;
  const std::uint8_t* bytes;     ///< null once it is floats
  float* values;                 ///< room for size() floats
  std::uint8_t* copy = nullptr;  ///< room for size() bytes: `bytes` are copied here before they change
  std::size_t area() const { return std::size_t(height) * std::size_t(width); }
  std::size_t size() const { return std::size_t(channels) * area(); }
};

namespace detail {

/// f(elements, planes, depth) on what may be changed: elements [planes][height][width][depth].
template <class F>
void edit(Image& image, F f) {
  if (!image.bytes) return f(image.values, std::size_t(image.channels), std::size_t{1});
  if (!image.copy)
    throw ArgumentError("a transform changes an image's bytes, but there is no room for a copy");
  if (image.bytes != image.copy) std::memcpy(image.copy, image.bytes, image.size());
  image.bytes = image.copy;
  f(image.copy, std::size_t{1}, std::size_t(image.channels));
}
/// A value as an element of the image; a byte must be able to hold it.
inline float element(float value, const float*) { return value; }
inline std::uint8_t element(float value, const std::uint8_t*) {
  if (!(value >= 0 && value <= 255) || float(std::uint8_t(value)) != value)
    throw ArgumentError(
        text("a value to fill an image of bytes: expected a whole one of 0 to 255, got ", value));
  return std::uint8_t(value);
}

}  // namespace detail

/// The height x width pixels whose first one is (top, left); those outside of the image are `fill`. Throws
/// ArgumentError if that is no part or more than the image's height or width.
inline void crop(Image& image, int top, int left, int height, int width, float fill = 0) {
  if (height < 1 || width < 1 || height > image.height || width > image.width)
    throw ArgumentError(
        text("crop: expected 1 x 1 to ", image.height, " x ", image.width, ", got ", height, " x ", width));
  detail::edit(image, [&]<class E>(E* elements, std::size_t planes, std::size_t depth) {
    const E filler = detail::element(fill, elements);
    const std::size_t from = std::size_t(image.width) * depth, to = std::size_t(width) * depth;
    // Of a row: what lies in the image.
    const auto first = std::size_t(std::clamp<std::int64_t>(-std::int64_t{left}, 0, width));
    const auto last = std::size_t(std::clamp<std::int64_t>(std::int64_t{image.width} - left, 0, width));
    // First to its place in an image of the old size: no row is overwritten before it has moved.
    for (std::size_t p = 0; p < planes; ++p)
      for (int i = 0; i < height; ++i) {
        const int y = top >= 0 ? i : height - 1 - i;
        const std::int64_t source = std::int64_t{y} + top;
        E* const plane = elements + p * std::size_t(image.height) * from;
        E* const row = plane + std::size_t(y) * from;
        if (source < 0 || source >= image.height || first >= last) {
          std::fill_n(row, to, filler);
          continue;
        }
        const E* const old = plane + std::size_t(source) * from;
        std::memmove(row + first * depth, old + std::ptrdiff_t(first * depth) + left * std::ptrdiff_t(depth),
                     (last - first) * depth * sizeof(E));
        std::fill_n(row, first * depth, filler);
        std::fill(row + last * depth, row + to, filler);
      }
    if (height == image.height && width == image.width) return;
    for (std::size_t p = 0; p < planes; ++p)
      for (std::size_t y = 0; y < std::size_t(height); ++y)
        std::memmove(elements + (p * std::size_t(height) + y) * to,
                     elements + (p * std::size_t(image.height) + y) * from, to * sizeof(E));
  });
  image.height = height;
  image.width = width;
}

/// Left and right change places.
inline void hflip(Image& image) {
  detail::edit(image, [&](auto* elements, std::size_t planes, std::size_t depth) {
    const std::size_t width = std::size_t(image.width), rows = planes * std::size_t(image.height);
    for (auto* row = elements; row != elements + rows * width * depth; row += width * depth) {
      std::reverse(row, row + width * depth);  // the elements of a pixel, too: turned back
      for (std::size_t d = 0; d < depth / 2; ++d)
        for (std::size_t x = 0; x < width; ++x) std::swap(row[x * depth + d], row[x * depth + depth - 1 - d]);
    }
  });
}

/// Top and bottom change places.
inline void vflip(Image& image) {
  detail::edit(image, [&](auto* elements, std::size_t planes, std::size_t depth) {
    const std::size_t height = std::size_t(image.height), row = std::size_t(image.width) * depth;
    for (std::size_t p = 0; p < planes; ++p, elements += height * row)
      for (std::size_t y = 0; y < height / 2; ++y)
        std::swap_ranges(elements + y * row, elements + (y + 1) * row, elements + (height - 1 - y) * row);
  });
}

/// The height x width pixels whose first one is (top, left) become `value`. Throws ArgumentError where they
/// don't lie in the image.
inline void erase(Image& image, int top, int left, int height, int width, float value = 0) {
  if (top < 0 || left < 0 || height < 0 || width < 0 || height > image.height - top ||
      width > image.width - left)
    throw ArgumentError(text("erase: expected a part of an image of ", image.height, " x ", image.width,
                             ", got ", height, " x ", width, " at (", top, ", ", left, ")"));
  detail::edit(image, [&](auto* elements, std::size_t planes, std::size_t depth) {
    const auto filler = detail::element(value, elements);
    for (std::size_t p = 0; p < planes; ++p)
      for (int y = top; y < top + height; ++y)
        std::fill_n(
            elements +
                (p * image.area() + std::size_t(y) * std::size_t(image.width) + std::size_t(left)) * depth,
            std::size_t(width) * depth, filler);
  });
}

}  // namespace kern::data
