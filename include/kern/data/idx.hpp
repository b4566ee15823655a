// The IDX format of MNIST's files: a magic number (two zeros, the element type, the rank), the extents as
// big-endian 32-bit numbers, the elements. Source: http://yann.lecun.com/exdb/mnist.
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../core/shape.hpp"

namespace kern::data {

using Bytes = std::vector<std::uint8_t>;

/// A function that gives a whole file's bytes, unpacked; throws DataError. `data::read_file`, or
/// io::read_gzip.
using Reader = Bytes (*)(const std::string& path);

/// The bytes of a file as they are. Throws DataError that names the file, also for one that is still gzipped.
inline Bytes read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw DataError(path + ": cannot be opened for reading");
  Bytes bytes;
  std::uint8_t block[1 << 16];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, file.get())) > 0;)
    bytes.insert(bytes.end(), block, block + n);
  if (std::ferror(file.get())) throw DataError(path + ": cannot be read (is it a folder?)");
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
    throw DataError(path +
                    ": is still gzipped (its first bytes are 1f 8b): unpack it with gunzip, or read it with "
                    "kern::io::read_gzip of <kern/io/gzip.hpp>");
  return bytes;
}

/// An IDX file of unsigned bytes in memory.
struct Idx {
  std::vector<int> extents;
  Bytes bytes;       // of the whole file
  std::size_t from;  // where the elements begin
  const std::uint8_t* elements() const { return bytes.data() + from; }
};

/// Reads an IDX file of unsigned bytes of this rank. Throws DataError for anything else, a wrong length
/// included.
inline Idx read_idx(const std::string& path, int rank, Reader reader = read_file) {
  Idx idx;
  idx.bytes = reader(path);
  const Bytes& b = idx.bytes;
  auto number = [&](std::size_t at) {
    return std::uint32_t{b[at]} << 24 | std::uint32_t{b[at + 1]} << 16 | std::uint32_t{b[at + 2]} << 8 |
           b[at + 3];
  };
  auto hex = [](std::uint32_t n) {
    char s[16];
    std::snprintf(s, sizeof s, "%08x", n);
    return std::string(s);
  };
  idx.from = 4 + 4 * std::size_t(rank);
  if (b.size() < 4)
    throw DataError(path + ": too short for an IDX file: expected at least 4 bytes, got " +
                    std::to_string(b.size()));
  const std::uint32_t magic = number(0), expected = 0x0800u + std::uint32_t(rank);
  if (magic != expected) {
    std::string what;
    if (magic == 0x0801) what = " (a file of labels)";
    if (magic == 0x0803) what = " (a file of images)";
    throw DataError(path + ": wrong magic number: expected " + hex(expected) + ", got " + hex(magic) + what);
  }
  if (b.size() < idx.from)
    throw DataError(path + ": its header is cut off: expected " + std::to_string(idx.from) + " bytes, got " +
                    std::to_string(b.size()));
  // No product of the extents is taken before it is known to be no larger than the file.
  std::uint64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    const std::uint32_t e = number(4 + 4 * std::size_t(i));
    if (e > 0x7fffffffu || (e != 0 && elements > (std::uint64_t{1} << 40) / e))
      throw DataError(path + ": extent " + std::to_string(i) + " is " + std::to_string(e) +
                      ", but the file has only " + std::to_string(b.size() - idx.from) +
                      " bytes of elements");
    elements *= e;
    idx.extents.push_back(int(e));
  }
  if (b.size() - idx.from != elements)
    throw DataError(path + ": is " + (b.size() - idx.from < elements ? "cut off" : "too long") +
                    ": expected " + std::to_string(elements) + " bytes of elements for shape " +
                    shape_string(idx.extents) + ", got " + std::to_string(b.size() - idx.from));
  return idx;
}

}  // namespace kern::data
