// Pictures as PNG files, simply: 8 bits a channel, no filters. Source: https://www.w3.org/TR/png.
// Opt-in: needs zlib.
#pragma once
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "../core/error.hpp"

namespace kern::io {

/// A picture of [height][width][channels] bytes as a PNG file's: 1 channel is grey, 3 are red, green, blue, 4
/// have opacity, too. Throws ArgumentError for other channels, no pixels, or a number of bytes that does not
/// fit.
[[gnu::cold]] inline std::string encode_png(int height, int width, int channels,
                                            std::span<const std::uint8_t> bytes) {
  const auto be32 = [](std::size_t n) {
    return std::string{char(n >> 24 & 255), char(n >> 16 & 255), char(n >> 8 & 255), char(n & 255)};
  };
  if ((channels != 1 && channels != 3 && channels != 4) || height < 1 || width < 1)
    throw ArgumentError(text("a picture: expected 1, 3 or 4 channels and at least a pixel, got ", channels,
                             " channels, height ", height, ", width ", width));
  const std::size_t row = std::size_t(width) * std::size_t(channels);
  if (bytes.size() / row != std::size_t(height) || bytes.size() % row != 0)
    throw ArgumentError(
        text("a picture of ", height, " x ", width, " x ", channels, ": got ", bytes.size(), " bytes"));
  std::string rows, packed;
  rows.reserve((row + 1) * std::size_t(height));
  for (std::size_t y = 0; y < std::size_t(height); ++y) {
    rows += '\0';  // its filter: none
    rows.append(reinterpret_cast<const char*>(bytes.data()) + y * row, row);
  }
  uLongf size = compressBound(uLong(rows.size()));
  packed.resize(size);
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                uLong(rows.size()), Z_DEFAULT_COMPRESSION) != Z_OK ||
      size > 0x7fffffffu)
    throw ArgumentError(text("a picture of ", height, " x ", width, " is too large for a PNG file"));
  packed.resize(size);

  std::string png("\x89PNG\r\n\x1a\n", 8);
  const auto chunk = [&](std::string_view name, std::string_view data) {
    const std::string body = std::string(name).append(data);
    png +=
        be32(data.size()) + body + be32(crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
  };
  const char color = channels == 1 ? 0 : channels == 3 ? 2 : 6;
  chunk("IHDR", be32(std::size_t(width)) + be32(std::size_t(height)) + std::string{8, color, 0, 0, 0});
  chunk("IDAT", packed);
  chunk("IEND", "");
  return png;
}

}  // namespace kern::io
