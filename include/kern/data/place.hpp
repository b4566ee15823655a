// Where a loader is in its data.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kern::data::detail {

/// The batch that comes next: in the loop that runs, or, where none does, in the next one. A loop that was
/// left early counts as running until another begins, with the next epoch.
class Place {
 public:
  /// Of the next loop.
  std::uint32_t next_epoch() const { return epoch_ + (running_ ? 1 : 0); }
  /// Of its epoch.
  std::size_t batch() const { return batch_; }
  /// For the next loop.
  void set(std::uint32_t epoch, std::size_t batch) {
    epoch_ = epoch;
    batch_ = batch;
    running_ = false;
  }

  /// A loop. -> its epoch.
  std::uint32_t begin() {
    ended();
    running_ = true;
    return epoch_;
  }
  void given() {
    if (running_) ++batch_;
  }
  void ended() {
    if (running_) set(epoch_ + 1, 0);
  }

  /// For checkpoints, with what makes the batches what they are.
  template <class Visitor, class Options>
  void state(Visitor& v, const Options& options, std::size_t samples) {
    v.fixed("loader.samples", std::uint64_t{samples});
    v.fixed("loader.batch_size", options.batch_size);
    v.fixed("loader.shuffle", options.shuffle);
    v.fixed("loader.drop_last", options.drop_last);
    v.fixed("loader.seed", options.seed.value);
    v.value("loader.epoch", epoch_, [this](std::uint32_t epoch) { set(epoch, 0); });
    v.value("loader.batch", std::uint64_t{batch_}, [this](std::uint64_t batch) { batch_ = batch; });
  }

 private:
  std::uint32_t epoch_ = 0;
  std::size_t batch_ = 0;
  bool running_ = false;
};

}  // namespace kern::data::detail
