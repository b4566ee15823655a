// A linear layer's kernels.
#pragma once
#include "../core/stage.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// A matrix in memory: element (r, c) at data[r * row + c * column].
template <class T>
struct Matrix {
  const T* data;
  std::ptrdiff_t row, column;
};

/// Tiles of product(): so many rows, columns, and inner indices at a time; a thread has 4 x 4.
inline constexpr int tile_rows = 64, tile_columns = 64, tile_depth = 16;

/// Part blockIdx.z of `parts` of c[m][n] = sum over k of a(m, k) * b(k, n), to c + blockIdx.z * part_step. n:
/// a multiple of 4. Along: which index of a and b runs along memory, k for a, n for b: neighbouring threads
/// load neighbours.
template <bool AlongK, bool AlongN, class T>
__global__ void __launch_bounds__(256) product(int rows, int depth, int columns, Matrix<T> a, Matrix<T> b,
                                               T* c, int c_step, int parts, std::ptrdiff_t part_step) {
  __shared__ T left[tile_depth][tile_rows + 1], right[tile_depth][tile_columns + 4];
  const int t = int(threadIdx.x), first_row = int(blockIdx.y) * tile_rows,
            first_column = int(blockIdx.x) * tile_columns;
  const int row = t / 16 * 4, column = t % 16 * 4;
  // Whole tiles of k a part, so that its bounds do not depend on anything else.
  const int steps = (depth + tile_depth - 1) / tile_depth;
  const int from = int(long(steps) * blockIdx.z / parts) * tile_depth,
            to = min(depth, int(long(steps) * (blockIdx.z + 1) / parts) * tile_depth);
  T sum[4][4] = {};
  for (int k0 = from; k0 < to; k0 += tile_depth) {
#pragma unroll
    for (int e = t; e < tile_depth * tile_rows; e += 256) {
      const int k = AlongK ? e % tile_depth : e / tile_rows, m = AlongK ? e / tile_depth : e % tile_rows;
      left[k][m] =
          k0 + k < to && first_row + m < rows ? a.data[(first_row + m) * a.row + (k0 + k) * a.column] : T(0);
    }
#pragma unroll
    for (int e = t; e < tile_depth * tile_columns; e += 256) {
      const int k = AlongN ? e / tile_columns : e % tile_depth,
                n = AlongN ? e % tile_columns : e / tile_depth;
      right[k][n] = k0 + k < to && first_column + n < columns
                        ? b.data[(k0 + k) * b.row + (first_column + n) * b.column]
                        : T(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_depth; ++k) {
      T l[4], r[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) l[i] = left[k][row + i], r[i] = right[k][column + i];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += l[i] * r[j];
    }
    __syncthreads();
  }
  c += blockIdx.z * part_step;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first_row + row + i >= rows) break;
    T* const to = c + std::ptrdiff_t(first_row + row + i) * c_step + first_column + column;
    if (columns % 4 == 0) {
      if (first_column + column < columns) store(to, Vec<T>{sum[i][0], sum[i][1], sum[i][2], sum[i][3]});
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first_column + column + j < columns) to[j] = sum[i][j];
    }
  }
}

/// y = chain(sum of the parts + bias): one sample, 4 channels a thread.
template <class T, class Chain>
__global__ void finish_dense(Dense d, int first, int n, const T* sums, int parts, const T* bias, T* y,
                             Chain chain, Draw draw) {
  const int groups = d.cols / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int o = int(item % groups) * vec_size, sample = int(item / groups);
  if (sample >= n) return;
  const std::ptrdiff_t e = std::ptrdiff_t(sample) * d.cols + o;
  Vec<T> v = load(sums + e);
  for (int p = 1; p < parts; ++p) {
    const Vec<T> part = load(sums + std::ptrdiff_t(p) * n * d.cols + e);
#pragma unroll
    for (int l = 0; l < vec_size; ++l) v.at[l] += part.at[l];
  }
  const Vec<T> b = bias ? load(bias + o) : Vec<T>{};
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    v.at[l] = o + l < d.co
                  ? chain.template bind<T>({first + sample, o + l, d.co}, draw).forward(v.at[l] + b.at[l], 0)
                  : T(0);
  store(y + e, v);
}

/// dL/dy -> dL/d(what the chain got), in place; db (null: none): its sum over the batch, in order. One
/// channel a thread.
template <class T, class Chain>
__global__ void undo_dense(Dense d, int first, int n, const T* y, T* dy, T* db, Chain chain, Draw draw) {
  const int o = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (o >= d.cols) return;
  T sum = 0;
  for (int r = 0; r < n; ++r) {
    const std::ptrdiff_t e = std::ptrdiff_t(r) * d.cols + o;
    const T g = chain.template bind<T>({first + r, o, d.co}, draw).backward(dy[e], y[e], 0);
    dy[e] = g;
    sum += g;
  }
  if (db) db[o] = sum;
}

}  // namespace kern::gpu
