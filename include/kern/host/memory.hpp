// Owned memory, aligned to a cache line.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace kern::host {

inline constexpr std::size_t alignment = 64;  // bytes: a cache line, and the widest register

namespace detail {
struct FreeAligned {
  void operator()(void* p) const noexcept { ::operator delete(p, std::align_val_t{alignment}); }
};
}  // namespace detail

/// n elements of a trivial type T, zeroed, aligned to 64 bytes, on the heap. One register of slack stands
/// behind them, so that kernels may load (and store what they loaded) a whole register at the last element.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Element = T;
  Buffer() = default;
  explicit Buffer(std::size_t n) : size_(n) {
    void* raw = ::operator new(n * sizeof(T) + alignment, std::align_val_t{alignment});
    data_.reset(static_cast<T*>(raw));
    std::fill_n(data_.get(), n + alignment / sizeof(T), T{});
  }
  /// What is moved from is empty.
  Buffer(Buffer&& b) noexcept : data_(std::move(b.data_)), size_(std::exchange(b.size_, 0)) {}
  Buffer& operator=(Buffer&& b) noexcept {
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
  std::unique_ptr<T, detail::FreeAligned> data_;
  std::size_t size_ = 0;
};

}  // namespace kern::host
