// A gzipped file, or one that is not.
#include "fuzz.hpp"
#include "kern/io/gzip.hpp"

using namespace kern;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  testing::only_errors("f: ", [&] {
    const data::Bytes file(bytes, bytes + size), unpacked = io::detail::unpack_gzip("f", file);
    testing::require(unpacked.size() <= 1032 * size);  // what deflate can pack at most
    if (!data::detail::is_gzip(file)) testing::require(unpacked == file);
  });
  return 0;
}
