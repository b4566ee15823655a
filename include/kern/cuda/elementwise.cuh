// Kernels with a thread for each element or row: what comes in, the loss, the optimizer.
#pragma once
#include <cstddef>
#include <cub/block/block_reduce.cuh>

#include "step_block.cuh"

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

/// f(i) for each i < n; where there is a loss, only if that is finite.
template <class F>
__global__ void each_thread(int n, const double* loss, F f) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n && (!loss || isfinite(*loss))) f(i);
}

/// row(i) for each i < n, which sets each[i]; *mean = their mean. One block.
inline constexpr int mean_threads = 256;
template <class T, class F>
__global__ void __launch_bounds__(mean_threads) mean_of_rows(int n, F row, const T* each, double* mean) {
  using Reduce = cub::BlockReduce<double, mean_threads>;
  __shared__ typename Reduce::TempStorage memory;
  double sum = 0;
  for (int i = int(threadIdx.x); i < n; i += mean_threads) {
    row(i);
    sum += double(each[i]);
  }
  sum = Reduce(memory).Sum(sum);
  if (threadIdx.x == 0) *mean = sum / n;
}

/// op(w[i], g[i], v[i]) with the block's op, if the loss is finite.
template <class T, class Op>
__global__ void update_each(std::size_t n, const StepBlock* block, const double* loss, T* w, const T* g,
                            T* v) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n || !isfinite(*loss)) return;
  const Op op = *reinterpret_cast<const Op*>(block->update);
  T wi = w[i], vi = v ? v[i] : T(0);
  op(wi, g[i], vi);
  w[i] = wi;
  if (v) v[i] = vi;
}

}  // namespace kern::gpu
