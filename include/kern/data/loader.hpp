// Batches of a data set, prepared while the one before is used.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../core/memory.hpp"
#include "../core/philox.hpp"
#include "../tensor/view.hpp"
#include "dataset.hpp"
#include "transforms.hpp"

namespace kern::data {

namespace detail {
template <class Sample>
struct BatchShape;
template <int... E>
struct BatchShape<Shape<E...>> {
  using type = Shape<dyn, E...>;
};
}  // namespace detail

/// Samples and their classes; valid until the loader gives the next batch.
template <class Sample>
struct Batch {
  TensorView<const float, typename detail::BatchShape<Sample>::type> images;
  std::span<const std::int32_t> labels;
  std::size_t size() const { return labels.size(); }
};

/// PyTorch's names and defaults.
struct DataLoaderOptions {
  int batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< leave out a last batch that is not full
  Seed seed{};             ///< of the order and of random transforms
};

/// Gives a data set batch by batch: for (const auto& batch : loader). A thread prepares the next batch
/// meanwhile. With shuffle each epoch has an order of its own: indices sorted by Philox keys of (seed,
/// epoch), so the order depends on nothing else. One loop at a time; leaving it early is fine. What the data
/// set or a transform throws comes out of the loop.
template <Dataset Set, class Transform>
class DataLoader {
 public:
  using Batch = data::Batch<typename Set::Sample>;

  /// Throws ArgumentError for a batch size below 1, DataError for an empty data set.
  DataLoader(Set set, Transform transform, DataLoaderOptions options = {})
      : set_(std::move(set)), transform_(std::move(transform)), options_(options) {
    if (options_.batch_size < 1)
      throw ArgumentError("DataLoader: batch_size must be at least 1, got " +
                          std::to_string(options_.batch_size));
    if (set_.size() == 0) throw DataError("DataLoader: the data set is empty");
    order_.resize(set_.size());
    const std::size_t batch = std::min(std::size_t(options_.batch_size), set_.size());
    for (Slot& s : slots_) {
      s.images = Buffer<float>(batch * sample_size);
      s.labels.resize(batch);
    }
    thread_ = std::thread([this] { work(); });
  }
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;
  ~DataLoader() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Batches of an epoch.
  std::size_t size() const {
    const std::size_t n = set_.size(), b = std::size_t(options_.batch_size);
    return options_.drop_last ? n / b : (n + b - 1) / b;
  }
  const Set& dataset() const { return set_; }
  const DataLoaderOptions& options() const { return options_; }
  /// The number of the epoch that the next loop gives, from 0.
  std::uint32_t epoch() const { return epoch_; }
  void set_epoch(std::uint32_t epoch) { epoch_ = epoch; }

  /// Indices of the data set in the order in which epoch `epoch` gives them.
  std::vector<std::uint32_t> order(std::uint32_t epoch) const {
    std::vector<std::uint32_t> o(set_.size());
    std::vector<Key> keys;
    make_order(epoch, o, keys);
    return o;
  }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DataLoader* loader) : loader_(loader) { advance(); }
    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    Iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    bool operator==(std::default_sentinel_t) const { return loader_ == nullptr; }

   private:
    void advance() {
      if (!loader_->next(batch_)) loader_ = nullptr;
    }
    DataLoader* loader_;
    Batch batch_{typename Images::View(nullptr, 0), {}};
  };

  /// Begins an epoch; what a loop before it left is dropped.
  Iterator begin() {
    start();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct Images {
    using View = decltype(Batch::images);
  };
  struct Slot {
    Buffer<float> images;
    std::vector<std::int32_t> labels;
    std::size_t count = 0;
    std::exception_ptr error;
  };
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  static_assert(Set::Sample::rank == 3 && Set::Sample::is_static,
                "a data set's Sample is Shape<channels, height, width>");
  static constexpr auto extents = Set::Sample::extents;
  static constexpr std::size_t sample_size =
      std::size_t(extents[0]) * std::size_t(extents[1]) * std::size_t(extents[2]);

  void make_order(std::uint32_t epoch, std::vector<std::uint32_t>& order, std::vector<Key>& keys) const {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::uint32_t(i);
    if (!options_.shuffle) return;
    keys.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto r = random::draw(options_.seed, random::Stream::shuffle, 0, epoch, std::uint32_t(i));
      keys[i] = {std::uint64_t{r[0]} << 32 | r[1], std::uint32_t(i)};
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].second;
  }

  /// Tells the thread to begin this epoch; waits until it has left the one before.
  void start() {
    std::unique_lock lock(mutex_);
    wanted_ = ready_ = 0;
    running_ = false;
    changed_.wait(lock, [&] { return !busy_; });
    make_order(epoch_, order_, keys_);
    running_epoch_ = epoch_++;
    batches_ = size();
    given_ = 0;
    wanted_ = std::min<std::size_t>(2, batches_);
    ready_ = 0;
    running_ = true;
    lock.unlock();
    changed_.notify_all();
  }
  /// The next batch, or false at the epoch's end. The slot given before is free from here on.
  bool next(Batch& batch) {
    std::unique_lock lock(mutex_);
    if (given_ == batches_) {
      running_ = false;
      return false;
    }
    if (given_ > 0) wanted_ = std::min(batches_, given_ + 2);
    changed_.notify_all();
    changed_.wait(lock, [&] { return ready_ > given_; });
    Slot& s = slots_[given_ % 2];
    ++given_;
    if (s.error) {
      running_ = false;
      given_ = batches_;
      const std::exception_ptr error = std::exchange(s.error, nullptr);
      lock.unlock();
      std::rethrow_exception(error);
    }
    batch = Batch{typename Images::View(s.images.data(), int(s.count)), {s.labels.data(), s.count}};
    return true;
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || (running_ && ready_ < wanted_); });
      if (stop_) return;
      const std::size_t number = ready_;
      busy_ = true;
      lock.unlock();
      fill(slots_[number % 2], number);
      lock.lock();
      busy_ = false;
      if (running_) ready_ = number + 1;
      changed_.notify_all();
    }
  }
  void fill(Slot& s, std::size_t number) {
    const std::size_t first = number * std::size_t(options_.batch_size);
    s.count = std::min(std::size_t(options_.batch_size), set_.size() - first);
    s.error = nullptr;
    try {
      for (std::size_t i = 0; i < s.count; ++i) {
        const std::uint32_t index = order_[first + i];
        const Record r = set_.get(index);
        if (r.label < 0 || r.label >= set_.classes())
          throw DataError("label of record " + std::to_string(index) + ": expected 0 to " +
                          std::to_string(set_.classes() - 1) + ", got " + std::to_string(r.label));
        s.labels[i] = r.label;
        Image image{extents[0], extents[1], extents[2], r.pixels, s.images.data() + i * sample_size};
        transform_(image, TransformDraw{options_.seed, running_epoch_, index});
        if (image.bytes)
          throw ArgumentError("DataLoader: the transform leaves bytes: expected a ToTensor in it");
      }
    } catch (...) {
      s.error = std::current_exception();
    }
  }

  Set set_;
  Transform transform_;
  DataLoaderOptions options_;
  std::uint32_t epoch_ = 0;

  // Shared with the thread, under the mutex; order_ and running_epoch_ change only while it is idle.
  std::mutex mutex_;
  std::condition_variable changed_;
  Slot slots_[2];
  std::vector<std::uint32_t> order_;
  std::vector<Key> keys_;
  std::uint32_t running_epoch_ = 0;
  std::size_t batches_ = 0, wanted_ = 0, ready_ = 0,
              given_ = 0;  // batches of the epoch: all, to be made, made, given
  bool running_ = false, busy_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace kern::data
