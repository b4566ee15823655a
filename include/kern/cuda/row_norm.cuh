// Kernels of a layer normalisation: a block has a row of a sample.
#pragma once
#include "../ops/layer_norm.hpp"
#include "below.cuh"
#include "norm.cuh"

namespace kern::gpu {

inline constexpr int most_row_threads = 256;

/// The sum over a block's threads, in all of them; in an order that depends on their number alone.
template <class T>
__device__ T block_sum(T v) {
  __shared__ T warps[most_row_threads / 32];
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_down_sync(~0u, v, apart);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  T sum = warps[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) sum += warps[w];
  __syncthreads();
  return sum;
}
/// f(element of the row, channel) for this thread's fours.
template <class F>
__device__ void each_four_of_row(const RowNorm& s, F f) {
  for (int e = int(threadIdx.x) * vec_size; e < s.weight_size(); e += int(blockDim.x) * vec_size)
    f(e, e % s.cols);
}

template <class T>
__device__ ops::RowStatistics<T> row_statistics(const RowNorm& s, const T* x) {
  T sum = 0, squares = 0;
  each_four_of_row(s, [&](int e, int) {
    const Vec<T> v = load(x + e);
#pragma unroll
    for (int l = 0; l < vec_size; ++l) sum += v.at[l];
  });
  const T mean = block_sum(sum) / T(s.count());
  each_four_of_row(s, [&](int e, int channel) {
    const Vec<T> v = load(x + e);
#pragma unroll
    for (int l = 0; l < vec_size; ++l)
      if (channel + l < s.c) squares += (v.at[l] - mean) * (v.at[l] - mean);
  });
  return {mean, block_sum(squares), s.count(), s.eps()};
}

template <class T, class Chain>
__global__ void __launch_bounds__(most_row_threads)
    row_norm_forward(RowNorm s, int first, ForwardPass<T> p, Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const int sample = int(blockIdx.x) / s.rows, row = int(blockIdx.x) % s.rows;
  const T* const x = p.x + std::ptrdiff_t(blockIdx.x) * s.weight_size();
  T* const y = p.y + std::ptrdiff_t(sample) * s.out_size();
  const auto statistics = row_statistics(s, x);
  each_four_of_row(s, [&](int e, int channel) {
    Vec<T> v = load(x + e), weight{}, bias{};
    if (p.w.weight) weight = load(p.w.weight + e);
    if (p.w.bias) bias = load(p.w.bias + e);
    const int pixel = row * s.pixels() + e / s.cols;
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      T out = statistics.normalised(v.at[l]);
      if (p.w.weight) out = out * weight.at[l] + bias.at[l];
      v.at[l] = channel + l < s.c
                    ? chain.template bind<T>({first + sample, channel + l, s.c}, draw).forward(out, pixel)
                    : T(0);
    }
    put(y + s.out_at(row, e), v);
  });
}

/// dx, taken back through the stage below, and each row's statistics, for row_norm_weight_gradient.
template <class T, bool DataGradient, class Under>
__global__ void __launch_bounds__(most_row_threads)
    row_norm_backward(RowNorm s, int first, BackwardPass<T> p, ops::RowStatistics<T>* all, Under below,
                      StepDraw at_step) {
  const ops::Draw draw = at_step;
  const int sample = int(blockIdx.x) / s.rows, row = int(blockIdx.x) % s.rows;
  const T* const x = p.x + std::ptrdiff_t(blockIdx.x) * s.weight_size();
  const auto statistics = row_statistics(s, x);
  if (threadIdx.x == 0) all[blockIdx.x] = statistics;
  if constexpr (DataGradient) {
    const T* const dy = p.dy + std::ptrdiff_t(sample) * s.out_size();
    const auto gradient = [&](int e) {
      Vec<T> g = load(dy + s.out_at(row, e));
      if (p.w.weight) {
        const Vec<T> weight = load(p.w.weight + e);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) g.at[l] *= weight.at[l];
      }
      return g;
    };
    T sum = 0, products = 0;
    each_four_of_row(s, [&](int e, int channel) {
      const Vec<T> g = gradient(e), in = load(x + e);
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        if (channel + l < s.c) sum += g.at[l], products += g.at[l] * statistics.normalised(in.at[l]);
    });
    const T mean_g = block_sum(sum) / T(s.count()), mean_product = block_sum(products) / T(s.count());
    const std::ptrdiff_t in_sample = std::ptrdiff_t(sample) * s.in_size();
    each_four_of_row(s, [&](int e, int channel) {
      const Vec<T> g = gradient(e), in = load(x + e);
      Vec<T> v;
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        v.at[l] = channel + l < s.c
                      ? statistics.backward(g.at[l], statistics.normalised(in.at[l]), mean_g, mean_product)
                      : T(0);
      const int at = row * s.weight_size() + e;
      put(p.dx + in_sample + at, undo(below, v, p.x + in_sample, first + sample, at, draw));
    });
  }
}

/// Part blockIdx.y of dw, and behind it of db, over its share of n samples' rows: a block has 8 groups of
/// four places, 32 rows at a time.
template <class T>
__global__ void __launch_bounds__(norm_groups* norm_rows)
    row_norm_weight_gradient(RowNorm s, int n, BackwardPass<T> p, const ops::RowStatistics<T>* all) {
  const int e = (int(blockIdx.x) * norm_groups + int(threadIdx.x) % norm_groups) * vec_size;
  const long rows = long(n) * s.rows, parts = long(gridDim.y);
  const int last = int(rows * (blockIdx.y + 1) / parts);
  const bool idle = e >= s.weight_size();
  Vec<T> products{}, sum{};
  for (int r = int(rows * blockIdx.y / parts) + int(threadIdx.x) / norm_groups; !idle && r < last;
       r += norm_rows) {
    const Vec<T> in = load(p.x + std::ptrdiff_t(r) * s.weight_size() + e),
                 g = load(p.dy + std::ptrdiff_t(r / s.rows) * s.out_size() + s.out_at(r % s.rows, e));
    const ops::RowStatistics<T> statistics = all[r];
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      sum.at[l] += g.at[l];
      products.at[l] += g.at[l] * statistics.normalised(in.at[l]);
    }
  }
  add_norm_rows(idle, products, sum, [&](const Vec<T>& all_products, const Vec<T>& all_sums) {
    T* const part = p.dw + std::ptrdiff_t(blockIdx.y) * 2 * s.weight_size() + e;
    put(part, all_products);
    put(part + s.weight_size(), all_sums);
  });
}

/// Parts that a batch's rows are cut into for the gradient of weight and bias.
KERN_HOST_DEVICE constexpr int gradient_parts(const RowNorm& s) {
  return greater(8, lesser(64, (1 << 20) / (2 * s.weight_size())));
}

}  // namespace kern::gpu
