// Pictures as PNG files. Opt-in: needs libpng.
#pragma once
#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "../core/error.hpp"
#include "../data/file.hpp"
#include "picture.hpp"

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

namespace detail {

/// A PNG file that is read. libpng leaves by longjmp where something is wrong: decode() makes nothing that
/// needs a destructor.
class PngReader {
 public:
  PngReader(const std::string& name, std::span<const std::uint8_t> bytes)
      : name_(name), left_(bytes), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &fail, &ignore)) {
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) std::snprintf(message_, sizeof message_, "libpng cannot be started");
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// -> false, and message(), where libpng gives up.
  bool decode(Picture& picture) {
    if (!info_ || setjmp(back_)) return false;
    png_set_read_fn(png_, this, &read);
    png_read_info(png_, info_);
    if (png_get_bit_depth(png_, info_) > 8) png_error(png_, "16 bits a channel: expected at most 8");
    make_room(picture, name_, png_get_image_height(png_, info_), png_get_image_width(png_, info_));
    png_set_expand(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const std::size_t row = png_get_rowbytes(png_, info_);
    if (row != std::size_t(picture.width) * 3) png_error(png_, "no red, green and blue");
    for (int pass = 0; pass < passes; ++pass)
      for (int y = 0; y < picture.height; ++y)
        png_read_row(png_, picture.pixels.data() + std::size_t(y) * row, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }
  const char* message() const { return message_; }

 private:
  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto* const self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    std::longjmp(self->back_, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t n) {
    auto* const self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (n > self->left_.size()) png_error(png, "the file is cut off");
    std::memcpy(to, self->left_.data(), n);
    self->left_ = self->left_.subspan(n);
  }

  const std::string& name_;
  std::span<const std::uint8_t> left_;
  png_structp png_;
  png_infop info_;
  std::jmp_buf back_;
  char message_[128] = "";
};

}  // namespace detail

/// The picture in a PNG file's bytes, of up to 8 bits a channel: grey and palettes become red, green, blue,
/// opacity and gamma are left out, as Pillow's convert("RGB") does. Throws DataError that begins with `name`.
[[gnu::cold]] inline Picture decode_png(const std::string& name, std::span<const std::uint8_t> bytes) {
  Picture picture;
  detail::PngReader reader(name, bytes);
  if (!reader.decode(picture))
    throw DataError(text(name, ": cannot be read as a PNG picture: ", reader.message()));
  return picture;
}

}  // namespace kern::io
