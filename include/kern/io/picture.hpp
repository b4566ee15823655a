// A picture as a file's reader gives it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "../data/file.hpp"

namespace kern::io {

/// [height][width][3] bytes, red, green, blue.
struct Picture {
  int height = 0, width = 0;
  data::Bytes pixels;
};

/// What a picture may have at most: as for Pillow, which takes a larger one for an attack.
inline constexpr std::uint64_t max_pixels = 89'478'485;

namespace detail {

/// Room for a picture. Throws DataError where it is too large.
[[gnu::cold]] inline void make_room(Picture& picture, const std::string& name, std::uint32_t height,
                                    std::uint32_t width) {
  if (std::uint64_t{height} * width > max_pixels)
    throw DataError(
        text(name, ": has ", height, " x ", width, " pixels: expected at most ", max_pixels, " in all"));
  picture.height = int(height);
  picture.width = int(width);
  picture.pixels.resize(std::size_t(height) * width * 3);
}

}  // namespace detail
}  // namespace kern::io
