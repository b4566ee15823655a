// A PNG file. Pictures of many pixels are left out: they are slow, not wrong.
#include "fuzz.hpp"
#include "kern/io/png.hpp"

using namespace kern;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto extent = [&](std::size_t at) {
    std::uint32_t n = 0;
    for (std::size_t i = at; i < at + 4; ++i) n = n << 8 | bytes[i];
    return std::uint64_t{n};
  };
  if (size >= 24 && extent(16) * extent(20) > 1 << 20 && extent(16) * extent(20) <= io::max_pixels) return 0;
  testing::only_errors("f: ", [&] {
    const io::Picture p = io::decode_png("f", {bytes, size});
    testing::require(p.height > 0 && p.width > 0);
    testing::require(p.pixels.size() == std::size_t(p.height) * std::size_t(p.width) * 3);
  });
  return 0;
}
