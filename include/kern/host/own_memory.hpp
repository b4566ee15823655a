// The part of a backend's contract that says where elements lie and when work is done, for backends that do
// it at once, in this program's memory.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "../core/stage.hpp"
#include "../ops/draw.hpp"
#include "memory.hpp"

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
  /// What a loss compares a batch with: class numbers, values or both.
  const std::int32_t* targets(std::span<const std::int32_t> t) { return t.data(); }
  const T* targets(std::span<const T> t) { return t.data(); }

  /// What load() takes of a view of samples.
  template <class View>
    requires std::is_convertible_v<decltype(std::declval<const View&>().data()), const T*>
  static const T* samples_of(const View& v) {
    return v.data();
  }

  /// n samples as PyTorch has them, stored as `e` says.
  [[gnu::noinline]] void load(const Entry& e, const T* samples, T* x, int n) {
    for (int s = 0; s < n; ++s, samples += e.size(), x += e.stored_size())
      for (int c = 0; c < e.c; ++c)
        for (int h = 0; h < e.h; ++h) {
          const T* const from = samples + (c * e.h + h) * e.w;
          T* const to = x + e.origin() + h * e.pitch() + c;
          if (e.cols == 1)
            std::copy_n(from, e.w, to);
          else
            for (int w = 0; w < e.w; ++w) to[w * e.cols] = from[w];
        }
  }

  /// Before a step: what a backend that records its work has to know apart.
  template <class Op>
  void set_update(int, const Op&) {}
  void begin(const ops::Draw&) {}
  struct Recordings {};
  /// A training step: forward() -> the loss; if it is finite, backward(), which ends with update(). -> the
  /// loss.
  template <class F, class G>
  double step(Recordings&, int, F&& forward, G&& backward) {
    const double loss = forward();
    if (std::isfinite(loss)) backward();
    return loss;
  }

 protected:
  static double mean_of(int n, const T* each) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double(each[i]);
    return sum / n;
  }
};

}  // namespace kern::host
