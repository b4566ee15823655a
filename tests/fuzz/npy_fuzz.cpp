// A .npy file, as tensors of several types and ranks.
#include "fuzz.hpp"
#include "kern/io/npy.hpp"

using namespace kern;

namespace {
template <class T, class S>
void read(std::span<const std::uint8_t> bytes) {
  testing::only_errors("f: ", [&] {
    const Tensor<T, S> t = io::detail::parse_npy<T, S>("f", bytes);
    testing::require(t.size() * sizeof(T) <= bytes.size());
  });
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span file(bytes, size);
  read<float, Shape<dyn, dyn>>(file);
  read<double, Shape<dyn>>(file);
  read<bool, Shape<2, dyn>>(file);
  read<std::int32_t, Shape<dyn, dyn, dyn>>(file);
  read<std::uint8_t, Shape<>>(file);
  return 0;
}
