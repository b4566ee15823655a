// Batches of a data set that lies on a GPU. For nvcc; other compilers see nothing.
#pragma once
#ifdef __CUDACC__
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "../cuda/tensor.hpp"
#include "../cuda/upload.hpp"
#include "loader.hpp"

namespace kern::data {

/// Samples on a GPU, and their classes; valid until the loader gives the next batch.
template <class Sample>
struct DeviceBatch {
  using Images = TensorView<const float, typename detail::BatchShape<Sample>::type, Cuda>;
  Images images;  ///< (N, channels, height, width)
  std::span<const std::int32_t> labels;
  std::size_t size() const { return labels.size(); }
};

namespace detail {
/// images[i][c][p] = table[c][pixels[order[i]][p][c]]: one a thread.
template <class T>
__global__ void load_pictures(std::size_t count, int channels, int area, const std::uint32_t* order,
                              const std::uint8_t* pixels, const T* table, T* images) {
  const std::size_t item = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= count) return;
  const unsigned size = unsigned(channels * area), e = unsigned(item % size);
  const unsigned c = e / unsigned(area), p = e % unsigned(area);
  const std::uint8_t byte = pixels[std::size_t(order[item / size]) * size + p * unsigned(channels) + c];
  images[item] = table[c * 256 + byte];
}
}  // namespace detail

/// A DataLoader whose data set is brought to a GPU once, as bytes: a batch is picked and transformed there,
/// and is, like the order of every epoch, the DataLoader's to the bit. The transform is a pointwise one
/// (ToTensor, Normalize); what it makes of each of the 256 bytes is asked once. Needs no workers.
template <Dataset Set, Transform Change>
class DeviceLoader {
  static_assert(
      PointwiseTransform<Change>,
      "DeviceLoader: only pointwise transforms run on a GPU; a DataLoader's batches come from the host");
  static_assert(
      std::is_same_v<typename detail::LabelsOf<Set>::View, std::span<const std::int32_t>>,
      "DeviceLoader: a set with Targets needs a DataLoader; a Trainer takes its batches on a GPU, too");
  static constexpr auto extents = Set::Sample::extents;
  static constexpr int channels = extents[0], area = extents[1] * extents[2];

 public:
  using Batch = DeviceBatch<typename Set::Sample>;

  /// On the device and stream of `where`. Throws as DataLoader, at once for every record, and CudaError.
  DeviceLoader(Set set, const Change& transform, DataLoaderOptions options, const Cuda& where)
      : options_(detail::checked(options, set)),
        where_(where),
        labels_(set.size()),
        order_(set.size()),
        order_up_(where),
        set_(std::move(set)) {
    const std::size_t n = set_.size(), size = std::size_t(channels) * std::size_t(area);
    std::vector<std::uint8_t> all(n * size);
    for (std::size_t i = 0; i < n; ++i) {
      const Record r = detail::record(set_, std::uint32_t(i));
      if (r.pixels.empty())
        throw DataError(text("DeviceLoader: record ", i, " of the data set is floats: expected bytes"));
      std::copy(r.pixels.begin(), r.pixels.end(), all.begin() + std::ptrdiff_t(i * size));
      labels_[i] = r.label;
    }
    pixels_ = gpu::Buffer<std::uint8_t>(all.size(), where);
    gpu::copy_to_device(pixels_.data(), where, all.data(), all.size());

    // A picture of 16 x 16 pixels of all bytes.
    std::vector<std::uint8_t> bytes(std::size_t(channels) * 256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i / std::size_t(channels));
    std::vector<float> table(bytes.size());
    Image image{channels, 16, 16, bytes.data(), table.data()};
    transform(image, TransformDraw{});
    if (image.bytes)
      throw ArgumentError("DeviceLoader: the transform leaves bytes: expected a ToTensor in it");
    table_ = gpu::Buffer<float>(table.size(), where);
    gpu::copy_to_device(table_.data(), where, table.data(), table.size() * sizeof(float));

    on_device_ = gpu::Buffer<std::uint32_t>(n, where);
    const std::size_t full = std::min(std::size_t(options_.batch_size), n);
    images_ = gpu::Buffer<float>(full * size, where);
    batch_labels_.resize(full);
  }

  /// Batches of an epoch.
  std::size_t size() const { return detail::batches(options_, labels_.size()); }
  const Set& dataset() const { return set_; }
  const DataLoaderOptions& options() const { return options_; }
  /// As DataLoader's.
  std::uint32_t epoch() const { return place_.next_epoch(); }
  std::size_t batch() const { return place_.batch(); }
  void set_epoch(std::uint32_t epoch, std::size_t first_batch = 0) { place_.set(epoch, first_batch); }
  template <class Visitor>
  void state(Visitor& v) {
    place_.state(v, options_, labels_.size());
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
    detail::make_order(options_, place_.begin(), order_, keys_);
    order_up_.send(on_device_.data(), where_, order_.data(), order_.size() * sizeof(std::uint32_t));
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  Batch batch(std::size_t number) {
    if (number < size())
      place_.given();
    else
      place_.ended();
    const std::size_t first = number * std::size_t(options_.batch_size);
    const std::size_t n = number < size() ? std::min(batch_labels_.size(), order_.size() - first) : 0;
    for (std::size_t i = 0; i < n; ++i) batch_labels_[i] = labels_[order_[first + i]];
    const std::size_t count = n * std::size_t(channels) * std::size_t(area);
    if (n > 0)
      gpu::launch("load_pictures", detail::load_pictures<float>, gpu::grid_of(count), where_, count, channels,
                  area, on_device_.data() + first, pixels_.data(), table_.data(), images_.data());
    return {typename Batch::Images(DevicePointer<const float>(images_.data()), where_, int(n)),
            {batch_labels_.data(), n}};
  }

  const DataLoaderOptions options_;
  const Cuda where_;
  detail::Place place_;
  std::uint64_t loop_ = 0;            // loops begun
  std::vector<std::int32_t> labels_;  // of the data set
  std::vector<std::uint32_t> order_;  // of the epoch
  std::vector<detail::OrderKey> keys_;
  std::vector<std::int32_t> batch_labels_;
  gpu::Buffer<std::uint8_t> pixels_;
  gpu::Buffer<float> table_, images_;  // channels x 256; a batch
  gpu::Buffer<std::uint32_t> on_device_;
  gpu::Upload order_up_;
  const Set set_;
};

/// See loader.hpp.
template <Dataset Set, Transform Change>
DeviceLoader<Set, Change> make_loader(const Cuda& where, Set set, const Change& transform,
                                      DataLoaderOptions options = {}) {
  return {std::move(set), transform, options, where};
}

}  // namespace kern::data
#endif
