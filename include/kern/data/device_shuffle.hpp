// The orders of shuffle.hpp, made on a GPU. For nvcc; other compilers see nothing.
#pragma once
#ifdef __CUDACC__
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

#include "../cuda/launch.cuh"
#include "../cuda/memory.hpp"
#include "shuffle.hpp"

namespace kern::data::detail {

/// keys[i]: what number i is sorted by; numbers[i] = i.
template <class Key>
__global__ void write_keys(std::size_t n, Seed seed, Shuffle use, std::uint32_t epoch, Key* keys,
                           std::uint32_t* numbers) {
  gpu::for_each(n, [=](std::size_t i) {
    keys[i] = shuffle_key(seed, use, epoch, std::uint32_t(i));
    numbers[i] = std::uint32_t(i);
  });
}

/// Orders of n samples, the same that shuffle() makes on the host. A template, so that programs without a
/// DeviceLoader have none of its kernels.
template <class Key = std::uint64_t>
class DeviceShuffle {
 public:
  DeviceShuffle(std::size_t n, const Cuda& where)
      : where_(where), keys_(n, where), sorted_(n, where), numbers_(n, where), order_(n, where) {
    std::size_t bytes = 0;
    sort(nullptr, bytes);
    room_ = gpu::Buffer<std::byte>(bytes, where);
  }
  void make(Seed seed, Shuffle use, std::uint32_t epoch) {
    const std::size_t n = order_.size();
    gpu::launch("write_keys", write_keys<Key>, gpu::grid_for(n), where_, n, seed, use, epoch, keys_.data(),
                numbers_.data());
    std::size_t bytes = room_.size();
    sort(room_.data(), bytes);
  }
  /// Of the last make(), on the device.
  const std::uint32_t* order() const { return order_.data(); }

 private:
  /// Equal keys keep their order, so that the smaller number comes first, as on the host.
  void sort(void* room, std::size_t& bytes) {
    const gpu::OnDevice on(where_);
    gpu::check(
        cub::DeviceRadixSort::SortPairs(room, bytes, keys_.data(), sorted_.data(), numbers_.data(),
                                        order_.data(), std::uint32_t(order_.size()), 0, 64, where_.stream),
        "cub::DeviceRadixSort::SortPairs of ", order_.size(), " keys on device ", where_.device);
  }

  Cuda where_;
  gpu::Buffer<Key> keys_, sorted_;
  gpu::Buffer<std::uint32_t> numbers_, order_;
  gpu::Buffer<std::byte> room_;
};

}  // namespace kern::data::detail
#endif
