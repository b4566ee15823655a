// An IDX file of labels or images.
#include "fuzz.hpp"
#include "kern/data/idx.hpp"

using namespace kern;

namespace {
data::Bytes file;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  file.assign(bytes, bytes + size);
  for (const int rank : {1, 3})
    testing::only_errors("f: ", [rank] {
      const data::Idx idx = data::read_idx("f", rank, [](const std::string&) { return file; });
      std::size_t elements = 1;
      for (const int e : idx.extents) elements *= std::size_t(e);
      testing::require(idx.extents.size() == std::size_t(rank));
      testing::require(idx.from + elements == idx.bytes.size());
    });
  return 0;
}
