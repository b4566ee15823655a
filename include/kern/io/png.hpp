// Pictures as PNG files. Opt-in: needs libpng.
#pragma once
#include <png.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../core/error.hpp"

namespace kern::io {

/// A picture of [height][width][channels] bytes as a PNG file's: 1 channel is grey, 3 are red, green, blue, 4
/// have opacity, too. Throws ArgumentError for other channels, no pixels, or a number of bytes that does not
/// fit.
[[gnu::cold]] inline std::string encode_png(int height, int width, int channels,
                                            std::span<const std::uint8_t> bytes) {
  if ((channels != 1 && channels != 3 && channels != 4) || height < 1 || width < 1)
    throw ArgumentError(text("a picture: expected 1, 3 or 4 channels and at least a pixel, got ", channels,
                             " channels, height ", height, ", width ", width));
  const std::size_t row = std::size_t(width) * std::size_t(channels);
  if (bytes.size() / row != std::size_t(height) || bytes.size() % row != 0)
    throw ArgumentError(
        text("a picture of ", height, " x ", width, " x ", channels, ": got ", bytes.size(), " bytes"));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(width);
  image.height = png_uint_32(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  // Once for the size, once for the bytes.
  png_alloc_size_t size = 0;
  std::string png;
  for (int i = 0; i < 2; ++i) {
    png.resize(size);
    if (!png_image_write_to_memory(&image, i == 0 ? nullptr : png.data(), &size, 0, bytes.data(), 0, nullptr))
      throw ArgumentError(text("a picture of ", height, " x ", width, ": ", image.message));
  }
  return png;
}

}  // namespace kern::io
