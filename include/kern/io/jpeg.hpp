// Pictures as JPEG files. Opt-in: needs libjpeg-turbo's TurboJPEG (-lturbojpeg).
#pragma once
#include <turbojpeg.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "../core/error.hpp"
#include "picture.hpp"

namespace kern::io {

/// The picture in a JPEG file's bytes, grey or in colours (not in CMYK), as libjpeg decodes it by default;
/// what a camera noted on how to turn it is left out, as Pillow does. Throws DataError that begins with
/// `name`, also for damage that libjpeg only warns of.
[[gnu::cold]] inline Picture decode_jpeg(const std::string& name, std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<void, decltype(&tjDestroy)> reader(tjInitDecompress(), &tjDestroy);
  const auto refuse = [&](const char* why) {
    throw DataError(text(name, ": cannot be read as a JPEG picture: ", why));
  };
  if (!reader) refuse("TurboJPEG cannot be started");
  const auto size = static_cast<unsigned long>(bytes.size());
  int height = 0, width = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(reader.get(), bytes.data(), size, &width, &height, &subsampling, &colours) != 0)
    refuse(tjGetErrorStr2(reader.get()));
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    refuse("it is in CMYK: expected grey or red, green, blue");
  Picture picture;
  detail::make_room(picture, name, std::uint32_t(height), std::uint32_t(width));
  if (tjDecompress2(reader.get(), bytes.data(), size, picture.pixels.data(), width, 0, height, TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
    refuse(tjGetErrorStr2(reader.get()));
  return picture;
}

}  // namespace kern::io
