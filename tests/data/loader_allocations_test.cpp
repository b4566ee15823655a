#include <doctest/doctest.h>

#include "kern/data/augment.hpp"
#include "kern/data/loader.hpp"
#include "kern/data/mnist.hpp"
#include "support/allocations.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::DataLoader;
using data::ToTensor;

TEST_CASE("nothing is allocated after the first epoch") {
  const Folder folder;
  write(folder / "train-images-idx3-ubyte", digit_images(300));
  write(folder / "train-labels-idx1-ubyte", digit_labels(300));
  for (const int workers : {0, 1, 3}) {
    DataLoader loader{
        data::Mnist{folder.path()},
        data::Compose{data::RandomCrop<28>{.padding = 2}, ToTensor{}, data::Normalize{0.1307f, 0.3081f}},
        {.batch_size = 32, .shuffle = true, .num_workers = workers}};
    const auto loop = [&] {
      std::size_t samples = 0;
      for (const auto& batch : loader) samples += batch.size();
      return samples;
    };
    CHECK(loop() == 300);
    const long before = allocations;
    const std::size_t samples = loop() + loop();
    for ([[maybe_unused]] const auto& batch : loader) break;
    const std::size_t more = loop();
    CHECK(allocations == before);
    CHECK(samples + more == 900);
  }
}
