// A file of CIFAR-10, CIFAR-100 with fine labels or with coarse ones.
#include "fuzz.hpp"
#include "kern/data/cifar.hpp"
#include "support/files.hpp"

using namespace kern;

namespace {
data::Bytes file;
data::Bytes read(const std::string&) { return file; }

void look(const auto& set) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const data::Record r = set.get(i);
    testing::require(r.label >= 0 && r.label < set.classes() && r.pixels.size() == 3072);
    for (const std::uint8_t p : r.pixels) sum += p;
  }
  testing::require(sum <= 255 * 3072 * set.size());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using data::Cifar100Labels;
  static const testing::Folder folder;
  static const std::string names =
      testing::write(folder / "test_batch.bin", {}) + testing::write(folder / "test.bin", {});
  file.assign(bytes, bytes + size);
  testing::only_errors(folder / "test_batch.bin: ",
                       [] { look(data::Cifar10(folder.path(), data::Split::test, read)); });
  for (const auto labels : {Cifar100Labels::fine, Cifar100Labels::coarse})
    testing::only_errors(folder / "test.bin: ",
                         [labels] { look(data::Cifar100(folder.path(), data::Split::test, labels, read)); });
  return 0;
}
