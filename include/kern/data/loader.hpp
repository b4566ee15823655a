// Batches of a data set, prepared while the one before is used.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/philox.hpp"
#include "../host/host.hpp"
#include "../host/memory.hpp"
#include "background.hpp"
#include "batch.hpp"
#include "file.hpp"
#include "place.hpp"
#include "refused.hpp"
#include "shuffle.hpp"
#include "transforms.hpp"

namespace kern::data {

/// PyTorch's names and defaults, but for num_workers.
struct DataLoaderOptions {
  int batch_size = 1;
  bool shuffle = false;
  int num_workers = 1;     ///< threads that prepare batches; 0: the loop's own does when it needs one
  bool drop_last = false;  ///< leave out a last batch that is not full
  Seed seed{};             ///< of the order and of random transforms
};

namespace detail {

template <class Set>
const DataLoaderOptions& checked(const DataLoaderOptions& options, const Set& set) {
  if (options.batch_size < 1)
    throw ArgumentError(text("DataLoader: batch_size must be at least 1, got ", options.batch_size));
  if (options.num_workers < 0)
    throw ArgumentError(text("DataLoader: num_workers must be at least 0, got ", options.num_workers));
  if (set.size() == 0) throw DataError("DataLoader: the data set is empty");
  if (set.size() > 0xffffffffu)
    throw DataError(text("DataLoader: expected a data set of at most 4294967295 samples, got ", set.size()));
  return options;
}
/// Batches of an epoch of n samples.
inline std::size_t batches(const DataLoaderOptions& options, std::size_t n) {
  const std::size_t b = std::size_t(options.batch_size);
  return options.drop_last ? n / b : (n + b - 1) / b;
}

/// order[i]: the sample that comes i-th in an epoch.
inline void make_order(const DataLoaderOptions& options, std::uint32_t epoch,
                       std::vector<std::uint32_t>& order, std::vector<OrderKey>& keys) {
  if (options.shuffle) return shuffle(options.seed, Shuffle::loader, epoch, order, keys);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::uint32_t(i);
}

/// What a batch has for labels: class numbers, or values.
template <class Set>
struct LabelsOf {
  using Element = std::int32_t;
  using View = std::span<const Element>;
  static constexpr std::size_t size = 1;  // of a sample
  static View view(const Element* p, std::size_t n) { return {p, n}; }
  static void copy(const Record& r, Element* to) { *to = r.label; }
};
template <class Set>
  requires requires { typename Set::Targets; }
struct LabelsOf<Set> {
  using Element = float;
  using View = TensorView<const Element, typename BatchShape<typename Set::Targets>::type>;
  static constexpr std::size_t size = kern::detail::Extents<typename Set::Targets>().size();
  static View view(const Element* p, std::size_t n) { return View(p, int(n)); }
  static void copy(const Record& r, Element* to) { std::copy(r.targets.begin(), r.targets.end(), to); }
};
template <Refused Set>
struct LabelsOf<Set> {
  using Element = std::int32_t;
  using View = RefusedLabels;
  static constexpr std::size_t size = 1;
  static View view(const Element*, std::size_t) { return {}; }
  static void copy(const Record&, Element*) {}
};
/// Record `index` of the set. Throws DataError where it is not what the set promises.
template <class Set>
Record record(const Set& set, std::uint32_t index) {
  constexpr std::size_t size = elements(image_of<typename Set::Sample>);
  const Record r = set.get(index);
  const bool floats = r.pixels.empty() && !r.values.empty();
  if (const std::size_t got = floats ? r.values.size() : r.pixels.size(); got != size)
    throw DataError(text("record ", index, " of the data set: expected ", size, floats ? " floats" : " bytes",
                         " for a sample of shape ", shape_string(Set::Sample::extents), ", got ", got));
  if constexpr (requires { typename Set::Targets; }) {
    if (r.targets.size() != LabelsOf<Set>::size)
      throw DataError(text("record ", index, " of the data set: expected ", LabelsOf<Set>::size,
                           " targets, got ", r.targets.size()));
  } else if (const int classes = set.classes(); r.label < 0 || r.label >= classes) {
    throw DataError(
        text("label of record ", index, " of the data set: expected 0 to ", classes - 1, ", got ", r.label));
  }
  return r;
}

}  // namespace detail

/// Gives a data set batch by batch: for (const auto& batch : loader). num_workers threads prepare the next
/// ones meanwhile; a batch that none has begun when it is needed, the loop's own does. The batches are the
/// same for any number. With shuffle each epoch has an order of its own: the indices sorted by Philox keys of
/// (seed, epoch), so the order depends on nothing else. One loop at a time; leaving it early is fine. What
/// the data set or a transform throws comes out of the loop, at the batch that it belongs to. After the first
/// epoch nothing allocates. Of two workers or more each has a copy of the data set, as PyTorch's have: get()
/// is never called by two threads at once on one of them.
template <Dataset Set, Transform Change>
class DataLoader {
  using Labels = detail::LabelsOf<Set>;

 public:
  /// Of what the transform makes of the data set's pictures.
  using Batch =
      data::Batch<detail::OutputOf<typename Set::Sample, Change>, typename detail::LabelsOf<Set>::View>;

  /// Throws ArgumentError for a batch size below 1, fewer than no workers, or several with a data set that
  /// can't be copied; DataError for an empty data set or one of 2^32 samples and more.
  DataLoader(Set set, Change transform, DataLoaderOptions options = {})
      : set_(std::move(set)),
        transform_(std::move(transform)),
        options_(detail::checked(options, set_)),
        copies_(copies()),
        order_(set_.size()),
        slots_(slots()),
        background_(options_.num_workers, [this](std::uint32_t number, int worker) {
          fill(number, copies_.empty() ? set_ : copies_[std::size_t(worker)]);
        }) {}
  /// Without a transform: for records that are floats.
  explicit DataLoader(Set set, DataLoaderOptions options = {})
    requires std::is_same_v<Change, Compose<>>
      : DataLoader(std::move(set), Change(), options) {}
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;
  ~DataLoader() { abandoned_.store(true, std::memory_order_relaxed); }

  /// Batches of an epoch.
  std::size_t size() const { return detail::batches(options_, set_.size()); }
  const Set& dataset() const { return set_; }
  const DataLoaderOptions& options() const { return options_; }
  /// The number of the epoch that the next loop gives: 0 at first, one more with each loop that begins.
  std::uint32_t epoch() const { return place_.next_epoch(); }
  /// The number of the batch that comes next in the epoch: of the loop that runs, else of the next one.
  std::size_t batch() const { return place_.batch(); }
  /// To go on where an earlier run stopped: the next loop leaves out the epoch's first batches, which are not
  /// prepared. A loop that is running is not touched.
  void set_epoch(std::uint32_t epoch, std::size_t first_batch = 0) { place_.set(epoch, first_batch); }
  /// For checkpoints (io/checkpoint.hpp): the batch that comes next. What is left of a loop that was left
  /// early counts as still to come.
  template <class Visitor>
  void state(Visitor& v) {
    place_.state(v, options_, set_.size());
  }

  /// Indices of the data set in the order in which epoch `epoch` gives them.
  std::vector<std::uint32_t> order(std::uint32_t epoch) const {
    std::vector<std::uint32_t> o(set_.size());
    std::vector<detail::OrderKey> keys;
    detail::make_order(options_, epoch, o, keys);
    return o;
  }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DataLoader* loader) : loader_(loader), loop_(loader->loop_) { advance(); }
    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    /// Throws ArgumentError if another loop over the loader has begun since.
    Iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    bool operator==(std::default_sentinel_t) const { return loader_ == nullptr; }

   private:
    void advance() {
      if (loop_ != loader_->loop_)
        throw ArgumentError("DataLoader: this loop ended when another one over the same loader began");
      if (!loader_->next(batch_)) loader_ = nullptr;
    }
    DataLoader* loader_;
    std::uint64_t loop_;
    Batch batch_{typename Batch::Images(nullptr, 0), Labels::view(nullptr, 0)};
  };

  /// Begins an epoch; what a loop before it left is dropped.
  Iterator begin() {
    start();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  static constexpr auto extents = detail::image_of<typename Set::Sample>,
                        output = detail::image_of<detail::OutputOf<typename Set::Sample, Change>>;
  static constexpr std::size_t input_size = detail::elements(extents), output_size = detail::elements(output);

  struct Slot {
    // Behind the last picture there is room for it as it was before it became smaller.
    explicit Slot(std::size_t batch)
        : images(batch * output_size + std::max(input_size, output_size) - output_size),
          bytes(input_size),
          labels(batch * Labels::size) {}
    host::Buffer<float> images;
    Bytes bytes;  // of a picture that changes
    std::vector<typename Labels::Element> labels;
    std::size_t count = 0;
    std::exception_ptr error;
  };

  std::size_t full_batch() const { return std::min(std::size_t(options_.batch_size), set_.size()); }

  std::vector<Set> copies() const {
    if (options_.num_workers < 2) return {};
    if constexpr (std::is_copy_constructible_v<Set>)
      return std::vector<Set>(std::size_t(options_.num_workers), set_);
    else
      throw ArgumentError(text("DataLoader: num_workers = ", options_.num_workers,
                               ": each needs a copy of the data set, but it can't be copied"));
  }
  std::vector<Slot> slots() const {
    std::vector<Slot> s;
    for (std::uint32_t i = 0; i < Background::room(options_.num_workers); ++i) s.emplace_back(full_batch());
    return s;
  }

  /// Waits until the threads have left the epoch before, then lays out this one.
  void start() {
    ++loop_;
    batches_ = given_ = 0;
    abandoned_.store(true, std::memory_order_relaxed);
    background_.cancel();
    abandoned_.store(false, std::memory_order_relaxed);
    running_epoch_ = place_.begin();
    detail::make_order(options_, running_epoch_, order_, keys_);
    batches_ = size();
    given_ = std::min(place_.batch(), batches_);
    first_ = background_.asked() - std::uint32_t(given_);
  }
  /// The next batch, or false at the epoch's end. The slot given before is free from here on.
  bool next(Batch& batch) {
    if (given_ == batches_) return place_.ended(), false;
    const std::uint32_t number = first_ + std::uint32_t(given_++);
    const std::size_t ahead = std::min(slots_.size() - 1, batches_ - given_);
    background_.need(number, number + 1 + std::uint32_t(ahead), [this](std::uint32_t n) { fill(n, set_); });
    Slot& s = slots_[number % slots_.size()];
    if (s.error) {
      batches_ = given_;
      std::rethrow_exception(std::exchange(s.error, nullptr));
    }
    batch =
        Batch{typename Batch::Images(s.images.data(), int(s.count)), Labels::view(s.labels.data(), s.count)};
    place_.given();
    return true;
  }
  void fill(std::uint32_t number, const Set& set) {
    Slot& s = slots_[number % slots_.size()];
    const std::size_t first = std::size_t(number - first_) * std::size_t(options_.batch_size);
    s.count = std::min(std::size_t(options_.batch_size), order_.size() - first);
    s.error = nullptr;
    try {
      for (std::size_t i = 0; i < s.count; ++i) {
        if (abandoned_.load(std::memory_order_relaxed)) return;
        sample(set, order_[first + i], s.images.data() + i * output_size, s.bytes.data(),
               s.labels.data() + i * Labels::size);
      }
    } catch (...) {
      s.error = std::current_exception();
    }
  }
  /// Writes a picture as the net gets it, and its label.
  void sample(const Set& set, std::uint32_t index, float* values, std::uint8_t* copy,
              typename Labels::Element* label) const {
    const Record r = detail::record(set, index);
    Image image{extents[0], extents[1], extents[2], r.pixels.data(), values, copy};
    if (r.pixels.empty()) {
      image.bytes = nullptr;
      std::copy(r.values.begin(), r.values.end(), values);
    }
    transform_(image, TransformDraw{options_.seed, running_epoch_, index});
    if (image.bytes) throw ArgumentError("DataLoader: the transform leaves bytes: expected a ToTensor in it");
    const std::array<int, 3> shape{image.channels, image.height, image.width};
    if (shape != output)
      throw ShapeError(text("DataLoader: the transform made a picture of shape ", shape_string(shape),
                            ": expected ", shape_string(output)));
    Labels::copy(r, label);
  }

  const Set set_;
  const Change transform_;
  const DataLoaderOptions options_;
  const std::vector<Set> copies_;  // one for each worker where there are several; else all use set_
  detail::Place place_;
  std::uint64_t loop_ = 0;  // loops begun

  // The threads read these; they change only while none has anything to do.
  std::vector<std::uint32_t> order_;
  std::vector<detail::OrderKey> keys_;
  std::uint32_t running_epoch_ = 0;
  std::uint32_t first_ = 0;  // the threads' number for the epoch's batch 0

  std::vector<Slot> slots_;              // used in turn: one by the loop, the others filled ahead
  std::size_t batches_ = 0, given_ = 0;  // of the epoch
  std::atomic<bool> abandoned_{false};   // nobody will look at what is being filled
  Background background_;                // last: its end comes first
};
template <class Set>
explicit DataLoader(Set, DataLoaderOptions = {}) -> DataLoader<detail::CheckedSet<Set>, Compose<>>;
template <class Set, class Change>
DataLoader(Set, Change, DataLoaderOptions = {})
    -> DataLoader<detail::CheckedSet<Set>, std::conditional_t<std::is_same_v<Change, DataLoaderOptions>,
                                                              Compose<>, detail::CheckedTransform<Change>>>;

/// The loader for a model on this device: a DataLoader; for one on Cuda a DeviceLoader (device_loader.hpp).
template <Dataset Set, Transform Change>
DataLoader<Set, Change> make_loader(const Host&, Set set, Change transform, DataLoaderOptions options = {}) {
  return {std::move(set), std::move(transform), options};
}
template <class Device, class Set>
auto make_loader(const Device& device, Set set, DataLoaderOptions options = {}) {
  return make_loader(device, detail::CheckedSet<Set>(std::move(set)), Compose<>(), options);
}
template <class Device, class Set, class Change>
  requires((!Dataset<Set> || !Transform<Change>) && !std::is_same_v<Change, DataLoaderOptions>)
auto make_loader(const Device& device, Set set, Change transform, DataLoaderOptions options = {}) {
  return make_loader(device, detail::CheckedSet<Set>(std::move(set)),
                     detail::CheckedTransform<Change>(std::move(transform)), options);
}

}  // namespace kern::data
