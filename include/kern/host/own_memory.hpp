// The part of a backend's contract that says where elements lie, for backends that work in this program's
// memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/memory.hpp"

namespace kern::host {

template <class T>
class OwnMemory {
 public:
  /// What the stages work on lies in such memory.
  template <class U>
  using Memory = Buffer<U>;
  template <class U>
  Memory<U> allocate(std::size_t n) {
    return Buffer<U>(n);
  }
  void zero(T* p, std::size_t n) { std::fill_n(p, n, T{}); }
  /// n elements that the stages wrote, for this program to read until the next call.
  template <class U>
  const U* to_host(const U* p, std::size_t) const {
    return p;
  }
  /// f(elements) changes n elements that the stages read.
  template <class F>
  void edit(T* p, std::size_t, F&& f) {
    f(p);
  }
  /// A batch's labels, for rows().
  const std::int32_t* labels(std::span<const std::int32_t> l) { return l.data(); }
};

}  // namespace kern::host
