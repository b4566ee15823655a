// Reads gzipped files. Opt-in: needs zlib (-lz, or the CMake target kern::gzip).
#pragma once
#include <zlib.h>

#include <memory>
#include <string>

#include "../data/idx.hpp"

namespace kern::io {

/// The bytes of a file, unpacked if it is gzipped (several members one after another too), as they are if
/// not. Throws DataError for a file that can't be read, is cut off, damaged, or has something else behind the
/// gzip data.
inline data::Bytes read_gzip(const std::string& path) {
  struct CloseFile {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw DataError(path + ": cannot be opened for reading");
  data::Bytes packed;
  std::uint8_t block[1 << 16];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, file.get())) > 0;)
    packed.insert(packed.end(), block, block + n);
  if (std::ferror(file.get())) throw DataError(path + ": cannot be read (is it a folder?)");
  if (packed.size() < 2 || packed[0] != 0x1f || packed[1] != 0x8b) return packed;

  z_stream z{};
  if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) throw DataError(path + ": zlib cannot be started");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&z, &inflateEnd);
  data::Bytes out;
  std::size_t at = 0;  // of packed, handed to zlib; avail_in of them not yet read
  auto position = [&] { return std::to_string(at - z.avail_in); };
  for (;;) {
    if (z.avail_in == 0) {
      const std::size_t n = std::min<std::size_t>(packed.size() - at, 1u << 30);
      z.next_in = packed.data() + at;
      z.avail_in = uInt(n);
      at += n;
    }
    z.next_out = block;
    z.avail_out = sizeof block;
    const int status = inflate(&z, Z_NO_FLUSH);
    out.insert(out.end(), block, block + (sizeof block - z.avail_out));
    if (status == Z_STREAM_END) {
      const std::size_t next = at - z.avail_in;
      if (next == packed.size()) return out;
      if (packed.size() - next < 2 || packed[next] != 0x1f || packed[next + 1] != 0x8b)
        throw DataError(path + ": has " + std::to_string(packed.size() - next) +
                        " bytes behind the end of its gzip data at byte " + std::to_string(next));
      inflateReset(&z);
    } else if (status == Z_BUF_ERROR ||
               (status == Z_OK && z.avail_in == 0 && at == packed.size() && z.avail_out != 0)) {
      throw DataError(path + ": its gzip data is cut off: it ends at byte " + position() +
                      " in the middle of a member");
    } else if (status != Z_OK) {
      throw DataError(path + ": its gzip data is damaged near byte " + position() +
                      (z.msg ? std::string(" (") + z.msg + ")" : ""));
    }
  }
}

}  // namespace kern::io
