// A linear layer's kernels: products of matrices, by tiles in shared memory.
#pragma once
#include "../core/round.hpp"
#include "below.cuh"
#include "tile.hpp"

namespace kern::gpu {

/// A matrix in memory: element (r, c) at data[r * row + c * column]; one of the two steps is 1.
template <class T>
struct Matrix {
  const T* data;
  std::ptrdiff_t row, column;
};

/// A block of 128 threads makes tile_rows x tile_columns elements of a product, tile_depth inner indices at a
/// time; a thread has 8 x 4.
inline constexpr int tile_rows = 64, tile_columns = 64, tile_depth = 16, dense_threads = 128;

/// tile_depth x 64 elements of one side; four more, so that rows do not fall on the same banks.
template <class T>
using StagedSide = T[tile_depth][64 + 4];
template <class T>
inline constexpr std::size_t dense_shared = 2 * sizeof(StagedSide<T>);

/// Brings one side of a product into shared memory, tile_depth of its k after another: to[k][m] = element
/// (first + m, k), 0 outside of size x depth. Inner: k runs along memory, else m does. step: from one row in
/// memory to the next. A thread has two fours, half a tile's depth apart.
template <bool Inner, class T>
class Side {
  // Inner: two fours of k by 16 rows a warp, so that its loads are whole sectors, its stores on all banks.
  static __device__ int my_k() { return int(Inner ? threadIdx.x % 2 * vec_size : threadIdx.x / 16); }
  static __device__ int my_m() { return int(Inner ? threadIdx.x / 2 : threadIdx.x % 16 * vec_size); }
  static constexpr int apart = tile_depth / 2;

 public:
  __device__ Side(const T* data, std::ptrdiff_t step, int first, int size, int k, int depth)
      : step_(Inner ? 1 : step),
        from_(data + (Inner ? (first + my_m()) * step + k + my_k() : (k + my_k()) * step + first + my_m())),
        left_(depth - k - my_k()),
        room_(size - first - my_m()),
        vectors_(step % vec_size == 0 && (Inner ? depth : size) % vec_size == 0) {}

  __device__ void stage_next(StagedSide<T>& to) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T* const from = from_ + i * apart * step_;
      Vec<T> v{};
      if (vectors_) {
        if (i * apart < left_ && room_ > 0) v = load(from);
      } else {
#pragma unroll
        for (int j = 0; j < vec_size; ++j)
          if (i * apart + (Inner ? j : 0) < left_ && (Inner ? 0 : j) < room_) v.at[j] = from[j];
      }
      if constexpr (Inner) {
#pragma unroll
        for (int j = 0; j < vec_size; ++j) to[my_k() + i * apart + j][my_m()] = v.at[j];
      } else {
        store(&to[my_k() + i * apart][my_m()], v);
      }
    }
    from_ += tile_depth * step_, left_ -= tile_depth;
  }

 private:
  std::ptrdiff_t step_;
  const T* from_;
  int left_, room_;  // elements along k and m from this thread's first on
  bool vectors_;
};

/// This thread's 8 x 4 sums, over `from` <= k < `to`, of a(m, k) * b(k, n); AInner, BInner: k runs along
/// memory.
template <bool AInner, bool BInner, class T>
__device__ void multiply_tile(int rows, int columns, int from, int to, const Matrix<T>& a, const Matrix<T>& b,
                              int first_row, int first_column, T (&sum)[8][4]) {
  auto& left = *block_memory<StagedSide<T>>();
  auto& right = *(block_memory<StagedSide<T>>() + 1);
  const int row = int(threadIdx.x) / 16 * 8, column = int(threadIdx.x) % 16 * 4;
  Side<AInner, T> from_a(a.data, AInner ? a.row : a.column, first_row, rows, from, to);
  Side<BInner, T> from_b(b.data, BInner ? b.column : b.row, first_column, columns, from, to);
  for (int k0 = from; k0 < to; k0 += tile_depth) {
    from_a.stage_next(left);
    from_b.stage_next(right);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_depth; ++k) {
      const Vec<T> l0 = load(&left[k][row]), l1 = load(&left[k][row + 4]), r = load(&right[k][column]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += l0.at[i] * r.at[j], sum[i + 4][j] += l1.at[i] * r.at[j];
    }
    __syncthreads();
  }
}
/// f(row, column, its four elements) for this thread's rows of the tile.
template <class T, class F>
__device__ void each_four(int first_row, int first_column, const T (&sum)[8][4], F f) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    f(first_row + int(threadIdx.x) / 16 * 8 + i, first_column + int(threadIdx.x) % 16 * 4,
      Vec<T>{sum[i][0], sum[i][1], sum[i][2], sum[i][3]});
}

/// y = chain(x * w + bias). blockIdx.z: one of gridDim.z parts of the sum; the last block of a tile to end
/// adds them up, in order. done: a zero for each tile, which is zero again after it.
template <class T, class Chain>
__global__ void __launch_bounds__(dense_threads)
    dense_forward(Dense d, int first, int n, ForwardPass<T> p, T* sums, unsigned* done, Chain chain,
                  StepDraw at_step) {
  const ops::Draw draw = at_step;
  const int parts = int(gridDim.z), steps = math::ceil_div(d.k, tile_depth);
  const int first_row = int(blockIdx.x) * tile_rows, first_column = int(blockIdx.y) * tile_columns;
  T sum[8][4] = {};
  multiply_tile<true, false>(n, d.cols, int(long(steps) * blockIdx.z / parts) * tile_depth,
                             lesser(d.k, int(long(steps) * (blockIdx.z + 1) / parts) * tile_depth),
                             Matrix<T>{p.x, d.k, 1}, Matrix<T>{p.w.weight, d.cols, 1}, first_row,
                             first_column, sum);
  const auto at = [&](int r, int o) { return std::ptrdiff_t(r) * d.cols + o; };
  if (parts > 1) {
    const std::ptrdiff_t step = std::ptrdiff_t(n) * d.cols;
    each_four(first_row, first_column, sum, [&](int r, int o, const Vec<T>& v) {
      if (r < n && o < d.cols) put(sums + blockIdx.z * step + at(r, o), v);
    });
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();  // what all of the block wrote comes before its count,
      last =
          atomicInc(done + blockIdx.y * gridDim.x + blockIdx.x, unsigned(parts - 1)) == unsigned(parts - 1);
      __threadfence();  // and what the others wrote before what it reads
    }
    __syncthreads();
    if (!last) return;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int r = first_row + int(threadIdx.x) / 16 * 8 + i, o = first_column + int(threadIdx.x) % 16 * 4;
      if (r >= n || o >= d.cols) continue;
      Vec<T> all = load(sums + at(r, o));
#pragma unroll 4
      for (int part = 1; part < parts; ++part) {
        const Vec<T> v = load(sums + part * step + at(r, o));
#pragma unroll
        for (int l = 0; l < vec_size; ++l) all.at[l] += v.at[l];
      }
#pragma unroll
      for (int l = 0; l < vec_size; ++l) sum[i][l] = all.at[l];
    }
  }
  each_four(first_row, first_column, sum, [&](int r, int o, Vec<T> v) {
    if (r >= n || o >= d.cols) return;
    const Vec<T> bias = p.w.bias ? load(p.w.bias + o) : Vec<T>{};
#pragma unroll
    for (int l = 0; l < vec_size; ++l)
      v.at[l] = o + l < d.co
                    ? chain.template bind<T>({first + r, o + l, d.co}, draw).forward(v.at[l] + bias.at[l], 0)
                    : T(0);
    put(p.y + at(r, o), v);
  });
}

/// dx, taken back through the stage below, by the first `data_blocks` blocks; dw and db by the others. dy:
/// dL/d(what the stage's pointwise ops got).
template <class T, class Under>
__global__ void __launch_bounds__(dense_threads)
    dense_backward(Dense d, int data_blocks, int first, int n, BackwardPass<T> p, Under below,
                   StepDraw at_step) {
  const ops::Draw draw = at_step;
  T sum[8][4] = {};
  const Matrix<T> dy{p.dy, d.cols, 1};
  if (int(blockIdx.x) < data_blocks) {
    const int across = math::ceil_div(d.k, tile_columns);
    const int first_row = int(blockIdx.x) / across * tile_rows,
              first_column = int(blockIdx.x) % across * tile_columns;
    multiply_tile<true, true>(n, d.k, 0, d.cols, dy, Matrix<T>{p.w.weight, 1, d.cols}, first_row,
                              first_column, sum);
    each_four(first_row, first_column, sum, [&](int r, int i, const Vec<T>& v) {
      if (r >= n || i >= d.k) return;
      const std::ptrdiff_t sample = std::ptrdiff_t(r) * d.k;
      if (d.k % vec_size == 0) {
        put(p.dx + sample + i, undo(below, v, p.x + sample, first + r, i, draw));
      } else {  // the net's input
#pragma unroll
        for (int l = 0; l < vec_size; ++l)
          if (i + l < d.k) p.dx[sample + i + l] = v.at[l];
      }
    });
    return;
  }
  const int block = int(blockIdx.x) - data_blocks, across = math::ceil_div(d.cols, tile_columns);
  const int first_row = block / across * tile_rows, first_column = block % across * tile_columns;
  multiply_tile<false, false>(d.k, d.cols, 0, n, Matrix<T>{p.x, 1, d.k}, dy, first_row, first_column, sum);
  each_four(first_row, first_column, sum, [&](int i, int o, const Vec<T>& v) {
    if (i < d.k && o < d.cols) put(p.dw + std::ptrdiff_t(i) * d.cols + o, v);
  });
  const int o = first_column + int(threadIdx.x);
  if (first_row > 0 || !p.db || threadIdx.x >= tile_columns || o >= d.cols) return;
  T bias = 0;
#pragma unroll 8
  for (int r = 0; r < n; ++r) bias += p.dy[std::ptrdiff_t(r) * d.cols + o];
  p.db[o] = bias;
}

}  // namespace kern::gpu
