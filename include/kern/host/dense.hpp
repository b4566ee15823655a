// A linear layer: y = x * w over a batch.
#pragma once
#include "contract.hpp"
#include "finish.hpp"
#include "turn.hpp"

namespace kern::host {

/// c[r][n] = sum over k of x[r * x_row + k * x_k] * w[k][n] for one row height R, V registers wide.
template <int R, int V, bool Add, class T>
void dense_tile(int k, const T* x, int x_row, int x_k, const T* w, int w_step, T* c, int c_step) {
  int at[R];
  for (int r = 0; r < R; ++r) at[r] = r * x_row;
  tile<R, V, Add>(Walk{1, 0, k, x_k}, 0, w_step, x, at, w, c, c_step, R);
}

/// c[r][n] = sum over k of x(r, k) * w[k][n] for r < rows, n < cols (a multiple of lanes). k is cut into
/// blocks whose part of w stays in the nearest cache while all rows pass over it.
template <class T>
void dense_product(int rows, int k, int cols, const T* x, int x_row, int x_k, const T* w, int w_step, T* c,
                   int c_step) {
  constexpr int L = lanes<T>, block = 192;
  // Rows go in tiles of usual_rows, what is left in ever lower and wider ones.
  const auto pass = [&]<int R, int V>(int first, int last) {
    const auto columns = [&]<int W>(int col) {
      for (int from = 0; from < k; from += block) {
        const int n = std::min(block, k - from);
        for (int r = first; r < last; r += R) {
          const T* const a = x + std::ptrdiff_t(r) * x_row + std::ptrdiff_t(from) * x_k;
          const T* const b = w + std::ptrdiff_t(from) * w_step + col;
          T* const to = c + std::ptrdiff_t(r) * c_step + col;
          if (from == 0)
            dense_tile<R, W, false>(n, a, x_row, x_k, b, w_step, to, c_step);
          else
            dense_tile<R, W, true>(n, a, x_row, x_k, b, w_step, to, c_step);
        }
      }
    };
    int col = 0;
    for (; col + V * L <= cols; col += V * L) columns.template operator()<V>(col);
    for (; col < cols; col += L) columns.template operator()<1>(col);
  };
  int r = rows / usual_rows * usual_rows;
  if (r > 0) pass.template operator()<usual_rows, 2>(0, r);
  if (rows - r >= 4) pass.template operator()<4, register_count == 32 ? 4 : 2>(r, r + 4), r += 4;
  if (rows - r >= 2) pass.template operator()<2, 4>(r, r + 2), r += 2;
  if (rows - r >= 1) pass.template operator()<1, 8>(r, r + 1);
}

/// y = chain(y + bias) in place, for rows [first, last) and columns [col, end) of a batch.
template <class T, class Chain>
void finish_dense(const Dense& d, int sample, int first, int last, int col, int end, const T* bias, T* y,
                  const Chain& chain, Draw draw) {
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
                Draw draw) {
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

/// Inputs that dense_backward() takes at a time.
inline constexpr int dense_block = 64;
template <class T>
constexpr std::size_t dense_scratch(const Dense& d, int batch) {
  const int narrow = d.k % lanes<T> != 0 ? batch : 0;
  return std::size_t(d.cols + narrow) * std::size_t(dense_block);
}

/// Both gradients for inputs [from, from + dense_block): dw[i] = sum x[r][i] * dy[r], dx[r][i] = dy[r] *
/// w[i].
template <bool DataGradient, class T>
void dense_backward(const Dense& d, int rows, int from, const T* x, const T* w, const T* dy, T* dx, T* dw,
                    T* scratch) {
  const int n = std::min(dense_block, d.k - from);
  if constexpr (DataGradient) {
    const int padded = round_up(n, lanes<T>);
    T* const turned = scratch;
    turn(n, d.cols, w + std::ptrdiff_t(from) * d.cols, d.cols, turned, dense_block);
    if (padded == n) {
      dense_product(rows, d.cols, n, dy, d.cols, 1, turned, dense_block, dx + from, d.k);
    } else {  // whole registers would reach into the next row
      T* const wide = scratch + d.cols * dense_block;
      dense_product(rows, d.cols, padded, dy, d.cols, 1, turned, dense_block, wide, dense_block);
      for (int r = 0; r < rows; ++r)
        std::copy_n(wide + r * dense_block, n, dx + std::ptrdiff_t(r) * d.k + from);
    }
  }
  dense_product(n, rows, d.cols, x + from, 1, d.k, dy, d.cols, dw + std::ptrdiff_t(from) * d.cols, d.cols);
}

}  // namespace kern::host
