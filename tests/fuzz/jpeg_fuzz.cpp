// A JPEG file. Pictures of many pixels are left out: they are slow, not wrong.
#include "fuzz.hpp"
#include "kern/io/jpeg.hpp"

using namespace kern;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  int height = 0, width = 0, subsampling = 0, colours = 0;
  const std::unique_ptr<void, decltype(&tjDestroy)> reader(tjInitDecompress(), &tjDestroy);
  tjDecompressHeader3(reader.get(), bytes, size, &width, &height, &subsampling, &colours);
  if (std::int64_t{height} * width > 1 << 20) return 0;
  testing::only_errors("f: ", [&] {
    const io::Picture p = io::decode_jpeg("f", {bytes, size});
    testing::require(p.height > 0 && p.width > 0);
    testing::require(p.pixels.size() == std::size_t(p.height) * std::size_t(p.width) * 3);
  });
  return 0;
}
