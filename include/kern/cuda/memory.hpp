// Owned memory on a device, and memory of the host that a device copies from and to without a stop.
#pragma once
#ifdef __CUDACC__
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "../host/memory.hpp"
#include "device.hpp"

namespace kern::gpu {

struct FreeDevice {
  void operator()(void* p) const noexcept {
    if (cudaFree(p) != cudaSuccess) cudaGetLastError();
  }
};
struct FreePinned {
  void operator()(void* p) const noexcept {
    if (cudaFreeHost(p) != cudaSuccess) cudaGetLastError();
  }
};

/// n elements of a trivial type T on a device, zeroed there in the order of the stream: as host::Buffer's on
/// the host aligned (to 256 bytes) and with 64 zeroed bytes of slack behind them. The host can't reach them.
/// Throws CudaError.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Element = T;
  Buffer() = default;
  Buffer(std::size_t n, const Cuda& where) : size_(n) {
    const OnDevice on(where);
    const std::size_t bytes = n * sizeof(T) + host::alignment;
    void* raw = nullptr;
    check(cudaMalloc(&raw, bytes), "cudaMalloc(", bytes, " bytes) on device ", where.device);
    data_.reset(static_cast<T*>(raw));
    check(cudaMemsetAsync(raw, 0, bytes, where.stream), "cudaMemsetAsync(", bytes, " bytes) on device ",
          where.device);
  }
  /// What is moved from is empty.
  Buffer(Buffer&& b) noexcept : data_(std::move(b.data_)), size_(std::exchange(b.size_, 0)) {}
  Buffer& operator=(Buffer&& b) noexcept {
    data_ = std::move(b.data_);
    size_ = std::exchange(b.size_, 0);
    return *this;
  }
  /// For kernels.
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<T, FreeDevice> data_;
  std::size_t size_ = 0;
};

/// n elements on the host, zeroed, in memory that stays where it is: copies between it and a device may go on
/// while the program does. Slack and alignment as host::Buffer's. Throws CudaError.
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t n) : size_(n) {
    const std::size_t bytes = n * sizeof(T) + host::alignment;
    void* raw = nullptr;
    check(cudaMallocHost(&raw, bytes), "cudaMallocHost(", bytes, " bytes)");
    data_.reset(static_cast<T*>(raw));
    std::memset(raw, 0, bytes);
  }
  PinnedBuffer(PinnedBuffer&& b) noexcept : data_(std::move(b.data_)), size_(std::exchange(b.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& b) noexcept {
    data_ = std::move(b.data_);
    size_ = std::exchange(b.size_, 0);
    return *this;
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  std::unique_ptr<T, FreePinned> data_;
  std::size_t size_ = 0;
};

}  // namespace kern::gpu
#endif
