// The IDX format of MNIST's files: a magic number (two zeros, the element type, the rank), the extents as
// big-endian 32-bit numbers, the elements. Source: http://yann.lecun.com/exdb/mnist.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "../core/error.hpp"
#include "../core/shape.hpp"
#include "file.hpp"

namespace kern::data {

/// An IDX file of unsigned bytes in memory.
struct Idx {
  std::vector<int> extents;
  Bytes bytes;           // of the whole file
  std::size_t from = 0;  // where the elements begin
  const std::uint8_t* elements() const { return bytes.data() + from; }
};

/// Reads an IDX file of unsigned bytes of this rank: 1 for labels, 3 for images. Throws DataError for
/// anything else, a wrong length included.
[[gnu::cold]] inline Idx read_idx(const std::string& path, int rank, Reader reader = read_file) {
  Idx idx;
  idx.bytes = reader(path);
  const Bytes& b = idx.bytes;
  const auto number = [&](std::size_t at) {
    return std::uint32_t{b[at]} << 24 | std::uint32_t{b[at + 1]} << 16 | std::uint32_t{b[at + 2]} << 8 |
           b[at + 3];
  };
  const auto magic_text = [](std::uint32_t n) {
    char s[16];
    std::snprintf(s, sizeof s, "%08x", n);
    return std::string(s) + (n == 0x0801 ? " (labels)" : n == 0x0803 ? " (images)" : "");
  };
  idx.from = 4 + 4 * std::size_t(rank);
  if (b.size() < 4)
    throw DataError(text(path, ": too short for an IDX file: expected at least 4 bytes, got ", b.size()));
  const std::uint32_t magic = number(0), expected = 0x0800u + std::uint32_t(rank);
  if (magic != expected)
    throw DataError(
        text(path, ": wrong magic number: expected ", magic_text(expected), ", got ", magic_text(magic)));
  if (b.size() < idx.from)
    throw DataError(text(path, ": its header is cut off: expected ", idx.from, " bytes, got ", b.size()));
  const std::uint64_t have = b.size() - idx.from;
  std::uint64_t elements = 1;
  bool more = false;  // than 64 bits can count
  for (int i = 0; i < rank; ++i) {
    const std::uint32_t e = number(4 + 4 * std::size_t(i));
    if (e > 0x7fffffffu)
      throw DataError(text(path, ": extent ", i, " in its header: expected at most 2147483647, got ", e));
    more = more || (e != 0 && elements > ~std::uint64_t{0} / e);
    elements *= e;
    idx.extents.push_back(int(e));
  }
  if (more || have != elements)
    throw DataError(text(path, ": is ", more || have < elements ? "cut off" : "too long", ": expected ",
                         more ? "at least 2^64" : text(elements), " bytes behind its header for shape ",
                         shape_string(idx.extents), ", got ", have));
  return idx;
}

}  // namespace kern::data
