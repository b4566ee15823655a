// Kernels with a thread for each element or row: what comes in, the loss, the optimizer.
#pragma once
#include <cstddef>

#include "../core/stage.hpp"

namespace kern::gpu {

/// x = samples in the stored layout, borders and padding 0: one stored element a thread.
template <class T>
__global__ void store_input(Entry e, int n, const T* samples, T* x) {
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int stored = int(item % e.stored_size()), sample = int(item / e.stored_size());
  if (sample >= n) return;
  const int channel = stored % e.cols, column = stored / e.cols % (e.w + 2 * e.border_w) - e.border_w,
            row = stored / e.pitch() - e.border_h;
  const bool inside = channel < e.c && column >= 0 && column < e.w && row >= 0 && row < e.h;
  x[item] = inside ? samples[std::ptrdiff_t(sample) * e.size() + (channel * e.h + row) * e.w + column] : T(0);
}

/// f(row).
template <class F>
__global__ void each_row(int n, F f) {
  const int row = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < n) f(row);
}
/// op(w[i], g[i], v[i]).
template <class T, class Op>
__global__ void update_each(std::size_t n, Op op, T* w, const T* g, T* v) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T wi = w[i], vi = v ? v[i] : T(0);
  op(wi, g[i], vi);
  w[i] = wi;
  if (v) v[i] = vi;
}

}  // namespace kern::gpu
