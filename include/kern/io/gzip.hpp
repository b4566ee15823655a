// Reads gzipped files. Opt-in: needs zlib (-lz, or the CMake target kern::gzip).
#pragma once
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../data/file.hpp"

namespace kern::io {

namespace detail {

/// What the file's bytes are, unpacked.
inline data::Bytes unpack_gzip(const std::string& path, data::Bytes packed) {
  if (!data::detail::is_gzip(packed)) return packed;

  z_stream z{};
  if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) throw DataError(text(path, ": zlib cannot be started"));
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&z, &inflateEnd);
  data::Bytes out;
  // The last four bytes say how long it is; believed only as far as deflate can pack at all.
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4 && i < packed.size(); ++i)
    length = length << 8 | packed[packed.size() - 1 - i];
  out.reserve(std::min(length, packed.size() * 1032));

  std::array<std::uint8_t, 1 << 15> block;
  std::size_t at = 0;  // of packed, handed to zlib; avail_in of them not yet read
  for (;;) {
    if (z.avail_in == 0) {
      const std::size_t n = std::min<std::size_t>(packed.size() - at, 1u << 30);
      z.next_in = packed.data() + at;
      z.avail_in = uInt(n);
      at += n;
    }
    z.next_out = block.data();
    z.avail_out = uInt(block.size());
    const int status = inflate(&z, Z_NO_FLUSH);
    out.insert(out.end(), block.data(), block.data() + (block.size() - z.avail_out));
    const std::size_t next = at - z.avail_in;
    if (status == Z_STREAM_END) {
      if (next == packed.size()) return out;
      if (!data::detail::is_gzip(packed, next))
        throw DataError(text(path, ": its gzip data ends at byte ", next, ", but ", packed.size() - next,
                             " other bytes follow"));
      inflateReset(&z);
    } else if (status == Z_BUF_ERROR) {  // no input is left
      throw DataError(
          text(path, ": its gzip data is cut off: the file ends at byte ", next, " in the middle of it"));
    } else if (status == Z_MEM_ERROR) {
      throw DataError(text(path, ": not enough memory to unpack it"));
    } else if (status != Z_OK) {
      throw DataError(
          text(path, ": its gzip data is damaged near byte ", next, z.msg ? text(" (", z.msg, ")") : ""));
    }
  }
}

}  // namespace detail

/// The bytes of a file, unpacked if it is gzipped (RFC 1952; several members one after another, too), as they
/// are if not. Throws DataError for a file that can't be read, is cut off, damaged, or has something else
/// behind the gzip data.
inline data::Bytes read_gzip(const std::string& path) {
  return detail::unpack_gzip(path, data::detail::read_bytes(path));
}

}  // namespace kern::io
