// A safetensors file: its header, its tensors as float, double and their own type; and saved again.
#include "fuzz.hpp"
#include "kern/io/safetensors_file.hpp"
#include "support/files.hpp"

using namespace kern;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const testing::Folder folder;
  testing::only_errors("f: ", [&] {
    const io::SafetensorsFile file("f", data::Bytes(bytes, bytes + size));
    std::size_t sum = 0;
    std::vector<io::TensorToSave> tensors;
    for (const io::TensorInfo& t : file.tensors()) {
      sum += file.bytes(t).size();
      tensors.emplace_back(t.name, t.dtype, t.shape, file.bytes(t));
      if (io::detail::readable<float>(t.dtype))
        testing::require(file.values<float>(t.name).size() == file.values<double>(t.name).size());
      testing::only_errors("f: ", [&] { file.values<bool>(t.name); });
      testing::only_errors("f: ", [&] { file.values<std::int64_t>(t.name); });
      testing::only_errors("f: ", [&] { file.tensor<float, Shape<dyn, 3>>(t.name); });
    }
    testing::require(sum <= size);
    // What can be read can be saved, and is the same then. To the disk only now and then: it is slow.
    if (size % 16 != 0) return;
    io::save_safetensors(folder / "g", tensors, file.metadata());
    const io::SafetensorsFile again(folder / "g");
    testing::require(again.tensors().size() == tensors.size() && again.metadata() == file.metadata());
  });
  return 0;
}
