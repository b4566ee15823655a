// A .npz file: its names, and its arrays as tensors of several types.
#include "fuzz.hpp"
#include "kern/io/npz.hpp"

using namespace kern;

namespace {
template <class T, class S>
void read(const io::NpzFile& file, const std::string& name) {
  testing::only_errors("f: ", [&] {
    const auto t = file.tensor<Tensor<T, S>>(name);
    testing::require(t.size() == 0 || t.data() != nullptr);
  });
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  testing::only_errors("f: ", [&] {
    const io::NpzFile file("f", data::Bytes(bytes, bytes + size));
    for (const std::string& name : file.names()) {
      read<float, Shape<dyn, dyn>>(file, name);
      read<std::int32_t, Shape<dyn>>(file, name);
    }
    testing::only_errors("f: has no array", [&] { file.tensor<Tensor<float, Shape<dyn>>>("no such name"); });
  });
  return 0;
}
