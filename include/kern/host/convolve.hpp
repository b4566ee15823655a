// A contraction's forward pass, one sample.
#pragma once
#include "../core/known.hpp"
#include "contract.hpp"
#include "finish.hpp"

namespace kern::host {

/// The convolution as a product: rows are the outputs of a row before pooling (those that a pool window
/// covers), k walks over the kernel. C is `c_step` wide.
constexpr Product image_product(const Contraction& c, int c_step) {
  const Walk row{c.conv_h(), c.stride_h * c.w * c.ci, c.out_w() * c.pool_w, c.stride_w * c.ci};
  const Walk k{c.kh, c.w * c.ci, c.kw * c.ci, 1};
  return {row, k, c.kw * c.ci * c.cols, c.cols, c_step};
}

/// Make(d's numbers, Args...) as a Known: known if d's numbers are.
template <auto Make, int... Args, class D>
constexpr auto derive(D d) {
  if constexpr (all_known(D::value)) {
    return Known<Make(D::value, Args...)>();
  } else {
    const auto run_time = Make(d.get(), Args...);
    return Known<all_dyn<std::remove_cvref_t<decltype(run_time)>>()>(run_time);
  }
}

/// Output rows that are computed at a time: enough that a ragged last tile matters little, few enough that
/// they stay in the nearest cache until they are pooled.
constexpr int rows_at_a_time(const Contraction& c) {
  return std::max(1, 48 / std::max(1, c.pool_h * c.pool_w * c.out_w()));
}
/// Elements of work space that convolve() needs.
template <class T>
constexpr std::size_t convolve_scratch(const Contraction& c) {
  return std::size_t(rows_at_a_time(c) * c.pool_h * c.out_w() * c.pool_w) * std::size_t(panel * lanes<T>);
}

/// One output row of a panel: `sums`, [pool_h][out_w * pool_w][V registers], pooled and finished.
template <int V, bool Index, class T, class D, class Chain>
void finish_row(D d, const Finish<T, V, Chain>& finish, const T* sums, int pixel, T* y, WindowIndex* argmax) {
  constexpr int L = lanes<T>;
  const Contraction c = d.get();
  const int pitch = c.out_w() * c.pool_w * V * L;
  for (int j = 0; j < c.out_w(); ++j, sums += c.pool_w * V * L, y += c.cols)
    for (int v = 0; v < V; ++v) {
      Largest<T> top{load(sums + v * L)};
      for (int a = 0; a < c.pool_h; ++a)
        for (int b = a == 0; b < c.pool_w; ++b)
          top.take(load(sums + a * pitch + (b * V + v) * L), a * c.pool_w + b);
      store(y + v * L, finish(v, top.value, pixel + j));
      if constexpr (Index) store_index<T>(argmax + j * c.cols + v * L, top.index);
    }
}

/// Output rows [first, last) of one sample; x, y and argmax stand at the sample.
template <class T, class D, class Chain>
void convolve(D d, int sample, int first, int last, const T* x, const T* weight, const T* bias, T* y,
              WindowIndex* argmax, const Chain& chain, ops::Draw draw, T* scratch) {
  panels<T, D::value.cols>(d.get().cols, [&]<int V>(int col) {
    const Contraction c = d.get();  // anew: what a type knows is lost in a capture
    const Finish<T, V, Chain> finish({sample, col, c.co}, c.co, bias, chain, draw);
    const int group = rows_at_a_time(c), row_sums = c.pool_h * c.out_w() * c.pool_w;
    for (int i = first; i < last; i += group) {
      const int count = std::min(group, last - i);
      contract<V, false>(derive<image_product, V * lanes<T>>(d), count * row_sums,
                         x + i * c.pool_h * c.stride_h * c.w * c.ci, weight + col, scratch);
      for (int r = i; r < i + count; ++r) {
        const T* sums = scratch + (r - i) * row_sums * V * lanes<T>;
        const int at = c.out_origin() + r * c.out_pitch() + col;
        if (c.pooled() && argmax)
          finish_row<V, true>(d, finish, sums, r * c.out_w(), y + at, argmax + at);
        else
          finish_row<V, false>(d, finish, sums, r * c.out_w(), y + at, nullptr);
      }
    }
  });
}

}  // namespace kern::host
