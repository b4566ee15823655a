// Kernels with a thread for each element or row: the loss, the optimizer.
#pragma once
#include <cstddef>
#include <cub/block/block_reduce.cuh>

#include "launch.cuh"
#include "step_block.cuh"
#include "tile.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// f(i) for each i < n; where there is a loss, only if that is finite.
template <class F>
__global__ void each_thread(int n, const double* loss, F f) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n && (!loss || isfinite(*loss))) f(i);
}

/// row(i) for each i < n, which sets each[i]; *mean = their mean. One block. at_once: so many rows are worked
/// on in shared memory, for each is a thread's and they stand one behind the other; 0: where they are.
inline constexpr int mean_threads = 256;
template <class T, class F>
__global__ void __launch_bounds__(mean_threads)
    mean_of_rows(int n, int at_once, F row, const T* each, double* mean) {
  using Reduce = cub::BlockReduce<double, mean_threads>;
  __shared__ typename Reduce::TempStorage memory;
  const int thread = int(threadIdx.x);
  double sum = 0;
  if (at_once == 0) {
    for (int i = thread; i < n; i += mean_threads) {
      row(i);
      sum += double(each[i]);
    }
  } else {
    const int stride = int(row.stride), pitch = stride | 1;  // odd: rows do not fall on the same banks
    T* const z = block_memory<T>();
    T* const dz = z + at_once * pitch;
    for (int first = 0; first < n; first += at_once) {
      const int count = lesser(at_once, n - first);
      const std::ptrdiff_t from = std::ptrdiff_t(first) * stride;
      for (int e = thread; e < count * stride; e += mean_threads) {
        const int to = e / stride * pitch + e % stride;
        z[to] = row.z[from + e];
        dz[to] = 0;  // the padding stays so
      }
      __syncthreads();
      if (thread < count) {
        row.of(first + thread, z + thread * pitch, row.dz ? dz + thread * pitch : nullptr);
        sum += double(each[first + thread]);
      }
      __syncthreads();
      if (row.dz)
        for (int e = thread; e < count * stride; e += mean_threads)
          row.dz[from + e] = dz[e / stride * pitch + e % stride];
      __syncthreads();
    }
  }
  sum = Reduce(memory).Sum(sum);
  if (thread == 0) *mean = sum / n;
}

/// op(w, g, states...) of element i; a state that is null is 0 and not kept.
template <class Op, class T, class... State>
__device__ void apply_to(std::size_t i, const Op& op, T* w, const T* g, State*... states) {
  [&](T wi, auto... at) {
    op(wi, g[i], at...);
    w[i] = wi;
    ((states ? void(states[i] = at) : void()), ...);
  }(w[i], (states ? states[i] : T(0))...);
}
template <class Op, class T, class... State>
__global__ void apply_each(std::size_t n, Op op, T* w, const T* g, State*... states) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) apply_to(i, op, w, g, states...);
}
/// With an op of the step's block, if the loss is finite.
template <class Op, class T, class... State>
__global__ void update_each(std::size_t n, const Op* op, const double* loss, T* w, const T* g,
                            State*... states) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n && isfinite(*loss)) apply_to(i, Op(*op), w, g, states...);
}

/// parts[block] = what Op joins of the block's share of n terms; then, in one block, its results for `count`
/// parts, if the loss is finite. The order depends on the grid alone.
inline constexpr int reduce_threads = 256;
template <class Op>
__device__ double reduce_block(double mine, const Op& op) {
  using Reduce = cub::BlockReduce<double, reduce_threads>;
  __shared__ typename Reduce::TempStorage memory;
  return Reduce(memory).Reduce(mine, [&](double a, double b) { return op.join(a, b); });
}
template <class Op, class T>
__global__ void __launch_bounds__(reduce_threads)
    reduce_parts(std::size_t n, Op op, const T* x, double* parts) {
  double all = 0;
  for_each(n, [&](std::size_t i) { all = op.join(all, op.term(double(x[i]))); });
  all = reduce_block(all, op);
  if (threadIdx.x == 0) parts[blockIdx.x] = all;
}
template <class Op>
__global__ void __launch_bounds__(reduce_threads)
    reduce_end(int count, Op op, const double* loss, const double* parts, double* results) {
  double all = 0;
  for (int i = int(threadIdx.x); i < count; i += reduce_threads) all = op.join(all, parts[i]);
  all = reduce_block(all, op);
  if (threadIdx.x == 0 && isfinite(*loss)) op.finish(all, results);
}

}  // namespace kern::gpu
