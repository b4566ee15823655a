// A data set's file as bytes.
#pragma once
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "../core/error.hpp"

namespace kern::data {

using Bytes = std::vector<std::uint8_t>;

/// A function that gives a whole file's bytes, unpacked; throws DataError. `data::read_file`, or
/// io::read_gzip.
using Reader = Bytes (*)(const std::string& path);

namespace detail {

/// What the system calls its error, "No such file or directory".
inline std::string reason(int error) { return std::generic_category().message(error); }

/// Whether there is a file or folder. Also true for what may not be opened: the reader then says why.
[[gnu::cold]] inline bool exists(const std::string& path) {
  errno = 0;
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (f) std::fclose(f);
  return f != nullptr || (errno != ENOENT && errno != ENOTDIR);
}
/// Throws DataError unless `folder` is one; `files` says whose files it should have.
[[gnu::cold]] inline void require_folder(const std::string& folder, const char* files) {
  if (!exists(folder + "/."))
    throw DataError(
        text(folder,
             exists(folder) ? ": is a file: expected a folder with " : ": no such folder: expected one with ",
             files, " files"));
}

inline bool is_gzip(const Bytes& b, std::size_t at = 0) {
  return b.size() - at >= 2 && b[at] == 0x1f && b[at + 1] == 0x8b;
}
inline std::string how_to_unpack() {
  return "unpack it with gunzip, or read it with kern::io::read_gzip of <kern/io/gzip.hpp>";
}

/// The bytes of a file, whatever they are.
[[gnu::cold]] inline Bytes read_bytes(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  errno = 0;
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw DataError(text(path, ": cannot be opened: ", reason(errno)));
  Bytes bytes;
  std::array<std::uint8_t, 1 << 15> block;
  for (std::size_t n; (n = std::fread(block.data(), 1, block.size(), file.get())) > 0;) {
    bytes.insert(bytes.end(), block.data(), block.data() + n);
    if (bytes.size() != block.size()) continue;
    // After the first block, which a folder doesn't have: room for the rest, if the file knows its length.
    if (std::fseek(file.get(), 0, SEEK_END) != 0) continue;
    const long length = std::ftell(file.get());
    if (std::fseek(file.get(), long(n), SEEK_SET) != 0)
      throw DataError(text(path, ": cannot be read: ", reason(errno)));
    if (length > 0) bytes.reserve(std::size_t(length));
  }
  if (std::ferror(file.get())) throw DataError(text(path, ": cannot be read: ", reason(errno)));
  return bytes;
}

}  // namespace detail

/// The bytes of a file as they are. Throws DataError that names the file, also for one that is still gzipped.
[[gnu::cold]] inline Bytes read_file(const std::string& path) {
  Bytes bytes = detail::read_bytes(path);
  if (detail::is_gzip(bytes))
    throw DataError(text(path, ": is still gzipped (its first bytes are 1f 8b): ", detail::how_to_unpack()));
  return bytes;
}

}  // namespace kern::data
