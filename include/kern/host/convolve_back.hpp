// Backward through a contraction without a pool and with stride 1, one sample: two more products.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../core/round.hpp"
#include "convolve.hpp"

namespace kern::host {

/// Sparse gradients are scattered, dense ones contracted.
constexpr bool scattered(const Contraction& c) { return c.pooled() || c.stride_h > 1 || c.stride_w > 1; }

/// dw[(a, b, c)][o] += sum over pixels of x[i + a][j + b][c] * dy[i][j][o].
constexpr Product weight_gradient_product(const Contraction& c) {
  const Walk kernel{c.kh, c.w * c.ci, c.kw * c.ci, 1};
  const Walk pixels{c.conv_h(), c.w * c.ci, c.conv_w(), c.ci};
  return {kernel, pixels, c.out_pitch(), c.cols, c.cols};
}

/// dy with a border of zeros, a kernel less one wide.
constexpr int bordered_w(const Contraction& c) { return c.conv_w() + 2 * (c.kw - 1); }
constexpr int bordered_h(const Contraction& c) { return c.conv_h() + 2 * (c.kh - 1); }
/// Channels of a turned kernel.
template <class T>
constexpr int turned_channels(const Contraction& c) {
  return math::round_up(c.ci, lanes<T>);
}

/// dx[i][j][c] = sum over (a, b, o) of bordered dy[i + a][j + b][o] * turned w[a][b][o][c]; pixels of dx are
/// c_step apart (0: as stored).
template <class T>
constexpr Product data_gradient_product(const Contraction& c, int c_step) {
  const int channels = turned_channels<T>(c);
  const Walk pixels{c.h, bordered_w(c) * c.cols, c.w, c.cols};
  const Walk kernel{c.kh, bordered_w(c) * c.cols, c.kw * c.cols, 1};
  return {pixels, kernel, c.kw * c.cols * channels, channels, c_step ? c_step : c.ci};
}

template <class T>
constexpr std::size_t dense_gradient_scratch(const Contraction& c) {
  const int narrow = c.ci % lanes<T> != 0 ? c.h * c.w * lanes<T> : 0;
  return std::size_t(bordered_h(c) * bordered_w(c) * c.cols + narrow * panel);
}

/// dy: after undo_chain(). turned: [kh][kw][cols][ci rounded up], the kernel back to front.
template <bool DataGradient, class T, class D>
void convolve_backward(D d, const T* x, const T* turned, const T* dy, T* dx, T* dw, T* scratch) {
  const Contraction c = d.get();
  panels<T, D::value.cols>(c.cols, [&]<int V>(int col) {
    const Contraction s = d.get();
    contract<V, true>(derive<weight_gradient_product>(d), s.k(), x, dy + s.out_origin() + col, dw + col);
  });
  if constexpr (DataGradient) {
    T* const bordered = scratch;
    const int size = bordered_h(c) * bordered_w(c) * c.cols;
    std::fill_n(bordered, size, T{});
    for (int i = 0; i < c.out_h(); ++i)
      std::copy_n(dy + c.out_origin() + i * c.out_pitch(), c.out_w() * c.cols,
                  bordered + ((i + c.kh - 1) * bordered_w(c) + c.kw - 1) * c.cols);
    constexpr int channels = D::value.ci == dyn ? dyn : turned_channels<T>(D::value);
    panels<T, channels>(turned_channels<T>(c), [&]<int V>(int col) {
      const Contraction s = d.get();
      if (s.ci % lanes<T> == 0) {
        contract<V, false>(derive<data_gradient_product<T>, 0>(d), s.h * s.w, bordered, turned + col,
                           dx + col);
      } else {  // whole registers would reach into the next pixel
        T* const wide = bordered + size;
        contract<V, false>(derive<data_gradient_product<T>, V * lanes<T>>(d), s.h * s.w, bordered,
                           turned + col, wide);
        for (int p = 0; p < s.h * s.w; ++p)
          std::copy_n(wide + p * V * lanes<T>, std::min(V * lanes<T>, s.ci - col), dx + p * s.ci + col);
      }
    });
  }
}

}  // namespace kern::host
