// Kernels of a batch normalisation; ops/batch_norm.hpp has what is left to do between them.
#pragma once
#include "../ops/batch_norm.hpp"
#include "pointwise.cuh"

namespace kern::gpu {

/// A block adds up 8 groups of four features, a part of the batch's samples, 32 rows of them at a time.
inline constexpr int norm_groups = 8, norm_rows = 32;
template <class T>
inline constexpr std::size_t norm_shared = 2 * norm_groups * norm_rows * sizeof(Vec<T>);

/// The sums of a and b over a block's rows, in order: f(sum of a, sum of b) in one thread a group.
template <class T, class F>
__device__ void add_norm_rows(bool idle, const Vec<T>& a, const Vec<T>& b, F f) {
  Vec<T>* const memory = block_memory<Vec<T>>();
  memory[threadIdx.x] = a;
  memory[threadIdx.x + norm_groups * norm_rows] = b;
  __syncthreads();
  if (int(threadIdx.x) >= norm_groups || idle) return;
  Vec<T> sum_a = a, sum_b = b;
  for (int r = 1; r < norm_rows; ++r)
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      sum_a.at[l] += memory[int(threadIdx.x) + r * norm_groups].at[l];
      sum_b.at[l] += memory[int(threadIdx.x) + (r + norm_rows) * norm_groups].at[l];
    }
  f(sum_a, sum_b);
}

/// The samples of a block's part, and a thread's features.
struct NormItem {
  int row, feature, channel, first, samples;
  __device__ NormItem(const Norm& s, int n, int chunk)
      : row(int(threadIdx.x) / norm_groups),
        feature((int(blockIdx.x) * norm_groups + int(threadIdx.x) % norm_groups) * vec_size),
        channel(feature % s.cols),
        first(int(blockIdx.y) * chunk),
        samples(first + chunk < n ? chunk : n - first) {}
  /// f(sample, pixel, element within the sample) for this thread's rows.
  template <class F>
  __device__ void each_row(const Norm& s, F f) const {
    if (feature >= s.features()) return;
    for (int r = row; r < samples * s.positions(); r += norm_rows) {
      const int p = r % s.positions();
      f(first + r / s.positions(), s.each_pixel ? feature / s.cols : p, p * s.cols + feature);
    }
  }
};

/// Means, and sums of squared distances from them, of parts of the batch: see ops::NormParts.
template <class T>
__global__ void __launch_bounds__(norm_groups* norm_rows)
    norm_measure(Norm s, int n, int chunk, const T* x, T* parts) {
  const NormItem at(s, n, chunk);
  const Vec<T> about =
      at.feature < s.features() ? load(x + std::ptrdiff_t(at.first) * s.in_size() + at.feature) : Vec<T>{};
  Vec<T> sum{}, squares{};
  at.each_row(s, [&](int sample, int, int e) {
    const Vec<T> v = load(x + std::ptrdiff_t(sample) * s.in_size() + e);
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      const T apart = v.at[l] - about.at[l];
      sum.at[l] += apart, squares.at[l] += apart * apart;
    }
  });
  add_norm_rows(at.feature >= s.features(), sum, squares, [&](Vec<T> sums, Vec<T> all_squares) {
    const T count = T(at.samples * s.positions());
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      all_squares.at[l] -= sums.at[l] * sums.at[l] / count;
      sums.at[l] = about.at[l] + sums.at[l] / count;
    }
    T* const part = parts + std::ptrdiff_t(blockIdx.y) * 2 * s.features() + at.feature;
    put(part, sums);
    put(part + s.features(), all_squares);
  });
}

/// dL/dy -> dL/d(what the chain got), in place; its sums and those of its products with the normalised x.
template <class T, class Chain>
__global__ void __launch_bounds__(norm_groups* norm_rows)
    norm_sums(Norm s, int first, int n, int chunk, const T* x, ops::NormState<T> state, T* dy, T* parts,
              Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const NormItem at(s, n, chunk);
  const int f = at.feature < s.features() ? at.feature : 0;
  const Vec<T> scale = load(state.scale + f), shift = load(state.shift + f), mean = load(state.mean + f),
               inverse = load(state.inverse + f);
  Vec<T> sum{}, products{};
  at.each_row(s, [&](int sample, int pixel, int e) {
    const Vec<T> in = load(x + std::ptrdiff_t(sample) * s.in_size() + e);
    T* const place = dy + std::ptrdiff_t(sample) * s.out_size() + s.out_origin() +
                     pixel / s.w * s.out_pitch() + pixel % s.w * s.cols + at.channel;
    Vec<T> g = load(place);
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      g.at[l] = chain.template bind<T>({first + sample, at.channel + l, s.c}, draw)
                    .backward_from_input(g.at[l], in.at[l] * scale.at[l] + shift.at[l], pixel);
      sum.at[l] += g.at[l];
      products.at[l] += g.at[l] * ((in.at[l] - mean.at[l]) * inverse.at[l]);
    }
    put(place, g);
  });
  add_norm_rows(at.feature >= s.features(), sum, products,
                [&](const Vec<T>& sums, const Vec<T>& all_products) {
                  T* const part = parts + std::ptrdiff_t(blockIdx.y) * 2 * s.features() + at.feature;
                  put(part, sums);
                  put(part + s.features(), all_products);
                });
}

/// dx, taken back through the stage below, from what norm_sums left: four elements a thread.
template <class T, class Under>
__global__ void norm_backward(Norm s, int first, int n, const T* x, ops::NormState<T> state, const T* dy,
                              T* dx, Under below, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const PointwiseItem at(s);
  if (at.sample >= n) return;
  const int f = at.pixel * s.feature_step() + at.channel;
  const Vec<T> in = load(x + at.in), scale = load(state.scale + f), mean = load(state.mean + f),
               gradient_mean = load(state.gradient_mean + f), slope = load(state.slope + f);
  Vec<T> g = load(dy + at.out);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    g.at[l] = scale.at[l] * (g.at[l] - gradient_mean.at[l]) + slope.at[l] * (in.at[l] - mean.at[l]);
  const std::ptrdiff_t sample = std::ptrdiff_t(at.sample) * s.in_size();
  put(dx + at.in, undo(below, g, x + sample, first + at.sample, int(at.in - sample), draw));
}

}  // namespace kern::gpu
