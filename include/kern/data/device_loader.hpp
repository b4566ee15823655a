// Batches of a data set that lies on a GPU. For nvcc; other compilers see nothing.
#pragma once
#ifdef __CUDACC__
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "../cuda/samples.hpp"
#include "device_shuffle.hpp"
#include "loader.hpp"

namespace kern::data {

/// Samples on a GPU, and their classes or values, on the host; valid until the loader gives the next batch.
template <class Sample, class LabelsView>
struct DeviceBatch {
  using Images = gpu::PickedSamples<float, typename detail::BatchShape<Sample>::type>;
  Images images;  ///< (N, channels, height, width), or (N, features): no tensor, but to(Host{}) or to(Cuda{})
                  ///< makes one
  LabelsView labels;
  std::size_t size() const { return std::size_t(images.extent(0)); }
};

/// A DataLoader whose data set is brought to a GPU once: pictures as bytes, which become floats where a net
/// reads them. A batch is a part of the epoch's order, which is made there; both are the DataLoader's to the
/// bit. The transform is a pointwise one (ToTensor, Normalize): of pictures it is asked once what it makes of
/// each of the 256 bytes, of records that are floats it is applied before they leave the host. Needs no
/// workers. After the constructor nothing is allocated.
template <Dataset Set, Transform Change>
class DeviceLoader {
  static_assert(
      PointwiseTransform<Change>,
      "DeviceLoader: only pointwise transforms run on a GPU; a DataLoader's batches come from the host");
  using Labels = detail::LabelsOf<Set>;
  static constexpr auto extents = detail::image_of<typename Set::Sample>;
  static constexpr int channels = extents[0];
  static constexpr std::size_t size_of_sample = detail::elements(extents);

 public:
  using Batch = DeviceBatch<typename Set::Sample, typename Labels::View>;

  /// On the device and stream of `where`. Throws as DataLoader, at once for every record, and CudaError.
  DeviceLoader(Set set, const Change& transform, DataLoaderOptions options, const Cuda& where)
      : options_(detail::checked(options, set)), where_(where), set_(std::move(set)) {
    const std::size_t n = set_.size();
    labels_.resize(n * Labels::size);
    batch_labels_.resize(std::min(std::size_t(options_.batch_size), n) * Labels::size);
    order_ = gpu::PinnedBuffer<std::uint32_t>(n);
    std::iota(order_.data(), order_.data() + n, 0u);
    if (options_.shuffle) shuffle_.emplace(n, where);
    if (detail::record(set_, 0).pixels.empty())
      bring_floats(transform);
    else
      bring_bytes(transform);
  }

  /// Batches of an epoch.
  std::size_t size() const { return detail::batches(options_, order_.size()); }
  const Set& dataset() const { return set_; }
  const DataLoaderOptions& options() const { return options_; }
  /// As DataLoader's.
  std::uint32_t epoch() const { return place_.next_epoch(); }
  std::size_t batch() const { return place_.batch(); }
  void set_epoch(std::uint32_t epoch, std::size_t first_batch = 0) { place_.set(epoch, first_batch); }
  template <class Visitor>
  void state(Visitor& v) {
    place_.state(v, options_, order_.size());
  }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DeviceLoader* loader)
        : loader_(loader),
          loop_(loader->loop_),
          number_(std::min(loader->place_.batch(), loader->size())),
          batch_(loader->batch(number_)) {}
    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    /// Throws ArgumentError if another loop over the loader has begun since.
    Iterator& operator++() {
      if (loop_ != loader_->loop_)
        throw ArgumentError("DeviceLoader: this loop ended when another one over the same loader began");
      batch_ = loader_->batch(++number_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return number_ >= loader_->size(); }

   private:
    DeviceLoader* loader_;
    std::uint64_t loop_;
    std::size_t number_;
    Batch batch_;
  };

  /// Begins an epoch.
  Iterator begin() {
    ++loop_;
    const std::uint32_t epoch = place_.begin();
    if (shuffle_) {
      shuffle_->make(options_.seed, detail::Shuffle::loader, epoch);
      gpu::copy_to_host(order_.data(), shuffle_->order(), where_, order_.size() * sizeof(std::uint32_t));
    }
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  /// f(record, i) for each of the set, whose label is kept; they are all bytes, or all floats.
  template <class F>
  void each_record(bool bytes, F f) {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const Record r = detail::record(set_, std::uint32_t(i));
      if (r.pixels.empty() == bytes)
        throw DataError(text("DeviceLoader: record ", i, " of the data set is ", bytes ? "floats" : "bytes",
                             ": expected ", bytes ? "bytes" : "floats", ", as record 0"));
      Labels::copy(r, labels_.data() + i * Labels::size);
      f(r, i * size_of_sample);
    }
  }
  /// `image` by the transform, which makes floats of it.
  static void change(Image image, const Change& transform) {
    transform(image, TransformDraw{});
    if (image.bytes)
      throw ArgumentError("DeviceLoader: the transform leaves bytes: expected a ToTensor in it");
  }
  template <class E>
  gpu::Buffer<E> on_device(const std::vector<E>& all) const {
    gpu::Buffer<E> there(all.size(), where_);
    gpu::copy_to_device(there.data(), where_, all.data(), all.size() * sizeof(E));
    return there;
  }
  void bring_bytes(const Change& transform) {
    std::vector<std::uint8_t> all(set_.size() * size_of_sample);
    each_record(true, [&](const Record& r, std::size_t at) {
      std::copy(r.pixels.begin(), r.pixels.end(), all.begin() + std::ptrdiff_t(at));
    });
    bytes_ = on_device(all);
    // A picture of 16 x 16 pixels of all bytes.
    std::vector<std::uint8_t> each(std::size_t(channels) * 256);
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = std::uint8_t(i / std::size_t(channels));
    std::vector<float> table(each.size());
    change({channels, 16, 16, each.data(), table.data()}, transform);
    table_ = on_device(table);
  }
  void bring_floats(const Change& transform) {
    std::vector<float> all(set_.size() * size_of_sample);
    each_record(false, [&](const Record& r, std::size_t at) {
      std::copy(r.values.begin(), r.values.end(), all.begin() + std::ptrdiff_t(at));
      change({channels, extents[1], extents[2], nullptr, all.data() + at}, transform);
    });
    floats_ = on_device(all);
  }
  /// From the epoch's sample `first` on.
  gpu::SamplesAt samples_from(std::size_t first) const {
    const bool floats = floats_.size() > 0;
    const std::size_t skipped = shuffle_ ? 0 : first * size_of_sample;
    const void* const elements =
        floats ? static_cast<const void*>(floats_.data() + skipped) : bytes_.data() + skipped;
    return {elements, shuffle_ ? shuffle_->order() + first : nullptr, floats ? nullptr : table_.data()};
  }
  Batch batch(std::size_t number) {
    if (number < size())
      place_.given();
    else
      place_.ended();
    const std::size_t first = number * std::size_t(options_.batch_size);
    const std::size_t n =
        number < size() ? std::min(std::size_t(options_.batch_size), order_.size() - first) : 0;
    for (std::size_t i = 0; i < n; ++i)
      std::copy_n(labels_.data() + order_[first + i] * Labels::size, Labels::size,
                  batch_labels_.data() + i * Labels::size);
    const gpu::SamplesAt at = n > 0 ? samples_from(first) : gpu::SamplesAt{};
    return {typename Batch::Images({at, where_}, int(n)), Labels::view(batch_labels_.data(), n)};
  }

  const DataLoaderOptions options_;
  const Cuda where_;
  const Set set_;
  detail::Place place_;
  std::uint64_t loop_ = 0;                        // loops begun
  std::vector<typename Labels::Element> labels_;  // of the data set
  std::vector<typename Labels::Element> batch_labels_;
  gpu::PinnedBuffer<std::uint32_t> order_;          // of the epoch, for the labels
  std::optional<detail::DeviceShuffle<>> shuffle_;  // the same for the samples; none: as they stand
  gpu::Buffer<std::uint8_t> bytes_;                 // all samples, [height][width][channels],
  gpu::Buffer<float> table_;                        // and what they mean: 256 a channel;
  gpu::Buffer<float> floats_;                       // or as floats, [channels][height][width]
};

template <class Set, class Change>
DeviceLoader(Set, const Change&, DataLoaderOptions, const Cuda&)
    -> DeviceLoader<detail::CheckedSet<Set>, detail::CheckedTransform<Change>>;

/// See loader.hpp.
template <Dataset Set, Transform Change>
DeviceLoader<Set, Change> make_loader(const Cuda& where, Set set, const Change& transform,
                                      DataLoaderOptions options = {}) {
  return {std::move(set), transform, options, where};
}

}  // namespace kern::data
#endif
