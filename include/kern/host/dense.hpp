// A linear layer: y = x * w over a batch.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../core/round.hpp"
#include "contract.hpp"
#include "finish.hpp"
#include "turn.hpp"

namespace kern::host {

/// A matrix that is read element by element: (r, k) is at data[r * row + k * column]; one of the steps is 1.
template <class T>
struct Matrix {
  const T* data;
  int row, column;
  const T* at(int r, int k) const { return data + std::ptrdiff_t(r) * row + std::ptrdiff_t(k) * column; }
};

/// Tiles of dense_product(): 6 rows of as many registers as fit.
inline constexpr int dense_tile_rows = 6, dense_tile_width = register_count == 32 ? 4 : 2;
/// Inner indices that are worked on at a time: w's rows for them stay close while all of x passes over them.
inline constexpr int dense_depth = 192;

/// Rows [first, last) of c[r][n] += sum over k < depth of x(r, k) * w[k][n] for V registers of n, in tiles of
/// R rows. fresh: = instead of +=. Not inlined: its tiles need all registers.
template <int R, int V, class T>
[[gnu::noinline]] void dense_column(int first, int last, int depth, const Matrix<T>& x, const T* w,
                                    int w_step, T* c, int c_step, bool fresh) {
  int at[R];
  for (int r = 0; r < R; ++r) at[r] = r * x.row;
  const Walk k{1, 0, depth, x.column};
  for (int r = first; r < last; r += R)
    tile<R, V>(k, 0, w_step, x.at(r, 0), at, w, c + std::ptrdiff_t(r) * c_step, c_step, R, !fresh);
}
/// The same for n < cols, at most V registers at a time.
template <int R, int V, class T>
void dense_tiles(int first, int last, int depth, int cols, const Matrix<T>& x, const T* w, int w_step, T* c,
                 int c_step, bool fresh) {
  int col = 0;
  const auto columns = [&]<int W>() {
    for (; col + W * lanes<T> <= cols; col += W * lanes<T>)
      dense_column<R, W>(first, last, depth, x, w + col, w_step, c + col, c_step, fresh);
  };
  if constexpr (V >= 8) columns.template operator()<8>();
  if constexpr (V >= 4) columns.template operator()<4>();
  columns.template operator()<2>();
  columns.template operator()<1>();
}

/// c[r][n] = sum over k of x(r, k) * w[k][n] for r < rows, n < cols (a multiple of lanes).
template <class T>
void dense_product(int rows, int k, int cols, const Matrix<T>& x, const T* w, int w_step, T* c, int c_step) {
  for (int from = 0; from < k; from += dense_depth) {
    const int depth = std::min(dense_depth, k - from);
    const T* const b = w + std::ptrdiff_t(from) * w_step;
    const Matrix<T> a{x.at(0, from), x.row, x.column};
    const auto tiles = [&]<int R, int V>(int first, int last) {
      dense_tiles<R, V>(first, last, depth, cols, a, b, w_step, c, c_step, from == 0);
      return last;
    };
    // What is left of the rows goes in ever lower and wider tiles.
    int r = 0;
    if (rows >= dense_tile_rows)
      r = tiles.template operator()<dense_tile_rows, dense_tile_width>(
          0, rows / dense_tile_rows * dense_tile_rows);
    if (rows - r >= 4) r = tiles.template operator()<4, dense_tile_width>(r, r + 4);
    if (rows - r >= 2) r = tiles.template operator()<2, 4>(r, r + 2);
    if (rows - r >= 1) tiles.template operator()<1, 8>(r, r + 1);
  }
}

/// y = chain(y + bias) in place, for rows [first, last) and columns [col, end) of a batch.
template <class T, class Chain>
void finish_dense(const Dense& d, int sample, int first, int last, int col, int end, const T* bias, T* y,
                  const Chain& chain, ops::Draw draw) {
  for (int r = first; r < last; ++r)
    for (int n = col; n < end; n += lanes<T>) {
      const Finish<T, 1, Chain> finish({sample + r, n, d.co}, d.co, bias, chain, draw);
      T* const at = y + std::ptrdiff_t(r) * d.cols + n;
      store(at, finish(0, load(at), 0));
    }
}

/// dL/dy -> dL/d(what the chain got), in place, for one register of columns; db: its sum over the batch, in
/// order.
template <class T, class Chain>
void undo_dense(const Dense& d, int sample, int rows, int col, const T* y, T* dy, T* db, const Chain& chain,
                ops::Draw draw) {
  vec<T> sum{};
  for (int r = 0; r < rows; ++r) {
    const std::ptrdiff_t e = std::ptrdiff_t(r) * d.cols + col;
    const auto op = chain.template bind<vec<T>>({sample + r, col, d.co}, draw);
    const vec<T> g = op.backward(load(dy + e), load(y + e), 0);
    store(dy + e, g);
    sum += g;
  }
  if (db) store(db + col, sum);
}

/// Rows of x, and inputs, that are taken at a time.
inline constexpr int dense_rows = 64, dense_block = 64;
/// Elements of work space of dense_backward().
template <class T>
constexpr std::size_t dense_scratch(const Dense& d) {
  const int narrow = d.k % lanes<T> != 0 ? dense_rows : 0;
  return std::size_t(d.cols + narrow) * std::size_t(dense_block);
}

/// Both gradients for inputs [from, from + dense_block): dw[i] = sum x[r][i] * dy[r], dx[r][i] = dy[r] *
/// w[i].
template <bool DataGradient, class T>
void dense_backward(const Dense& d, int rows, int from, const T* x, const T* w, const T* dy, T* dx, T* dw,
                    T* scratch) {
  const int n = std::min(dense_block, d.k - from);
  if constexpr (DataGradient) {
    T* const turned = scratch;
    turn(n, d.cols, w + std::ptrdiff_t(from) * d.cols, d.cols, turned, dense_block);
    if (n % lanes<T> == 0) {
      dense_product(rows, d.cols, n, Matrix<T>{dy, d.cols, 1}, turned, dense_block, dx + from, d.k);
    } else {  // whole registers would reach into the next row
      T* const wide = scratch + d.cols * dense_block;
      for (int first = 0; first < rows; first += dense_rows) {
        const int count = std::min(dense_rows, rows - first);
        dense_product(count, d.cols, math::round_up(n, lanes<T>),
                      Matrix<T>{dy + std::ptrdiff_t(first) * d.cols, d.cols, 1}, turned, dense_block, wide,
                      dense_block);
        for (int r = 0; r < count; ++r)
          std::copy_n(wide + r * dense_block, n, dx + std::ptrdiff_t(first + r) * d.k + from);
      }
    }
  }
  dense_product(n, rows, d.cols, Matrix<T>{x + from, 1, d.k}, dy, d.cols, dw + std::ptrdiff_t(from) * d.cols,
                d.cols);
}

}  // namespace kern::host
