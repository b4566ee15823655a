// The numbers in a checkpoint, whatever they are: refused, or a training goes on from them. What else may be
// wrong with the file, safetensors_fuzz.cpp finds. A net would take long to compile, and its parameters may
// be any numbers.
#include <array>

#include "fuzz.hpp"
#include "kern/data/loader.hpp"
#include "kern/io/checkpoint.hpp"
#include "kern/train/reduce_lr_on_plateau.hpp"
#include "kern/train/schedules.hpp"
#include "kern/train/sgd.hpp"
#include "support/files.hpp"

using namespace kern;

namespace {

struct Loader {
  data::detail::Place place;
  template <class Visitor>
  void state(Visitor& v) {
    place.state(v, data::DataLoaderOptions{.batch_size = 2}, 5);
  }
};

struct Training {
  Sgd optimizer{.lr = 0.1};
  Scheduler<StepLR> schedule{optimizer, {.step_size = 3}};
  ReduceLROnPlateau plateau{.patience = 1};
  Loader loader;
  std::array<double, 2> best{};
  bool better = false;
  io::Checkpoint<decltype(schedule)&, ReduceLROnPlateau&, Loader&, io::Entry<std::array<double, 2>>,
                 io::Entry<bool>>
      checkpoint;
  explicit Training(const std::string& path)
      : checkpoint{path, schedule, plateau, loader, io::Entry{"best", best}, io::Entry{"better", better}} {}

  void run() {
    for (int i = 0; i < 5; ++i) {
      loader.place.begin();
      loader.place.given();
      schedule.step(optimizer);
      plateau.step(optimizer, best[0]);
      testing::require(int(better) <= 1);
    }
    loader.place.ended();
  }
};

/// A checkpoint's bytes.
data::Bytes saved() {
  const testing::Folder folder;
  Training t(folder / "f");
  t.run();
  t.checkpoint.save();
  return data::detail::read_bytes(folder / "f");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const data::Bytes whole = saved();
  static const std::size_t header = 8 + std::size_t(whole[0]) + (std::size_t(whole[1]) << 8);
  static const std::size_t places = (whole.size() - header - 8) / 4 + 1;
  // Each 9 bytes are a place and 8 bytes to put there: a number, or two.
  data::Bytes file = whole;
  for (std::size_t i = 0; i + 9 <= size; i += 9)
    std::copy_n(bytes + i + 1, 8, file.data() + header + 4 * (bytes[i] % places));
  Training training("f");
  bool loaded = false;
  testing::only_errors("f: ", [&] {
    training.checkpoint.load(io::SafetensorsFile("f", std::move(file)));
    loaded = true;
  });
  if (!loaded) testing::require(training.schedule.last_epoch == 0 && training.loader.place.next_epoch() == 0);
  training.run();
  return 0;
}
