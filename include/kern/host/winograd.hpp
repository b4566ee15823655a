// Convolution in fewer multiplications: Winograd's F(2x2, RxR), after Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016. Each 2 x 2 block of outputs comes from an A x A block of inputs,
// A = R + 1:
//   Y = At [ (G w Gt) . (Bt x B) ] A       . is the product element by element, summed over input channels
// so that A*A products take the place of 4*R*R: 16 for 36 (3x3), 36 for 100 (5x5). The element-wise part is
// A*A matrix products; the 2 x 2 block is just what a 2 x 2 pool takes.
//
// The sums are rounded in other places than a direct convolution's, and by more the larger the matrices'
// entries are. Measured (tests/host/winograd_test.cpp), the error of an output stays below 4 (3x3) and 8
// (5x5) units of rounding of its sum |x||w|; a direct sum of k products is only known to stay below k of
// them.
#pragma once
#include <algorithm>
#include <cstddef>

#include "convolve.hpp"

namespace kern::host {

/// The matrices for kernels of R x R, from interpolation at 0, 1, -1 (5x5: and 2, -2) and infinity.
template <int R>
struct Winograd;
template <>
struct Winograd<3> {
  static constexpr int A = 4;
  static constexpr int input[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  static constexpr int output[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  static constexpr double kernel[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
};
template <>
struct Winograd<5> {
  static constexpr int A = 6;
  static constexpr int input[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                      {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  static constexpr int output[2][6] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}};
  static constexpr double kernel[6][5] = {{0.25, 0, 0, 0, 0},
                                          {-1. / 6, -1. / 6, -1. / 6, -1. / 6, -1. / 6},
                                          {-1. / 6, 1. / 6, -1. / 6, 1. / 6, -1. / 6},
                                          {1. / 24, 1. / 12, 1. / 6, 1. / 3, 2. / 3},
                                          {1. / 24, -1. / 12, 1. / 6, -1. / 3, 2. / 3},
                                          {0, 0, 0, 0, 1}};
};

/// Which contractions are done so: those that gain by it. double is where precision is asked for.
template <class T>
constexpr bool uses_winograd(const Contraction& c) {
  return sizeof(T) == 4 && c.kh == c.kw && (c.kh == 3 || c.kh == 5) && c.stride_h == 1 && c.stride_w == 1 &&
         c.pool_h == 2 && c.pool_w == 2 && c.ci >= 16 && c.ci % lanes<T> == 0 && c.co >= 16;
}
/// winograd.operator()<R>() where d is done so, R x R its kernel, else direct(). Only what d's type leaves
/// possible is compiled.
template <class T, class D, class F, class G>
[[gnu::always_inline]] inline void with_winograd(D d, F&& winograd, G&& direct) {
  constexpr Contraction known = D::value;
  if constexpr (all_known(known)) {
    if constexpr (uses_winograd<T>(known))
      winograd.template operator()<known.kh>();
    else
      direct();
  } else if constexpr (sizeof(T) == 4 && (known.pool_h == dyn || known.pool_h == 2)) {
    const Contraction c = d.get();
    if (!uses_winograd<T>(c))
      direct();
    else if (c.kh == 3)
      winograd.template operator()<3>();
    else
      winograd.template operator()<5>();
  } else {
    direct();
  }
}
/// Elements of a tile of inputs, A*A.
constexpr int winograd_points(const Contraction& c) { return (c.kh + 1) * (c.kw + 1); }
/// Output rows, and tiles, that are worked on at a time: enough rows for the products' tiles, few enough for
/// the near caches; and the same number again and again.
constexpr int winograd_rows(const Contraction& c) {
  int rows = std::clamp(24 / std::max(1, c.out_w()), 1, std::max(1, c.out_h()));
  while (c.out_h() % rows != 0) --rows;
  return rows;
}
/// Output rows that are cheapest together: 1 where a contraction is not done so.
template <class T>
constexpr int winograd_band(const Contraction& c) {
  return uses_winograd<T>(c) ? winograd_rows(c) : 1;
}
constexpr int winograd_tiles(const Contraction& c) { return winograd_rows(c) * c.out_w(); }
template <class T>
constexpr std::size_t winograd_scratch(const Contraction& c) {
  return std::size_t(winograd_points(c) * winograd_tiles(c)) * std::size_t(c.ci + panel * lanes<T>);
}

/// sum + C * x, without the products that are none.
template <int C, class V>
[[gnu::always_inline]] inline V add_multiple(const V& sum, const V& x) {
  if constexpr (C == 0)
    return sum;
  else if constexpr (C == 1)
    return sum + x;
  else if constexpr (C == -1)
    return sum - x;
  else {
    using T = std::remove_cvref_t<decltype(x[0])>;
    return fma<T>(x, splat(T(C)), sum);
  }
}
/// sum of row[i] * x(i) over i < N.
template <const auto& Row, int N, class F>
[[gnu::always_inline]] inline auto combine(F&& x) {
  constexpr int first = [] {
    int i = 0;
    while (Row[i] == 0) ++i;
    return i;
  }();
  using V = decltype(x(0));
  V sum = x(first);
  if constexpr (Row[first] == -1)
    sum = V{} - sum;
  else if constexpr (Row[first] != 1)
    sum = sum * splat<std::remove_cvref_t<decltype(sum[0])>>(Row[first]);
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((sum = add_multiple<(I > first ? Row[I] : 0)>(sum, x(I))), ...);
  }(std::make_integer_sequence<int, N>{});
  return sum;
}
/// f.operator()<I>() for I < N.
template <int N, class F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (f.template operator()<I>(), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// G w Gt for one input channel: w at [a][b][cols] steps of `w_step`, to points `to_step` apart.
template <int R, class T>
void winograd_kernel(int cols, const T* w, int w_step, T* to, std::ptrdiff_t to_step) {
  using W = Winograd<R>;
  for (int o = 0; o < cols; o += lanes<T>) {
    vec<T> half[W::A][R];
    for (int i = 0; i < W::A; ++i)
      for (int b = 0; b < R; ++b) {
        half[i][b] = vec<T>{};
        for (int a = 0; a < R; ++a)
          half[i][b] = fma<T>(splat(T(W::kernel[i][a])), load(w + (a * R + b) * w_step + o), half[i][b]);
      }
    for (int i = 0; i < W::A; ++i)
      for (int j = 0; j < W::A; ++j) {
        vec<T> sum{};
        for (int b = 0; b < R; ++b) sum = fma<T>(splat(T(W::kernel[j][b])), half[i][b], sum);
        store(to + (i * W::A + j) * to_step + o, sum);
      }
  }
}

/// Bt x B for one tile and one register of channels; x's pixels are `column` apart, its rows `row`.
template <int R, class T>
void winograd_input(const T* x, int row, int column, T* to, std::ptrdiff_t to_step) {
  using W = Winograd<R>;
  constexpr int A = W::A;
  vec<T> half[A][A];
  unrolled<A>([&]<int J>() {
    vec<T> in[A];
    for (int i = 0; i < A; ++i) in[i] = load(x + i * row + J * column);
    unrolled<A>([&]<int I>() { half[I][J] = combine<W::input[I], A>([&](int k) { return in[k]; }); });
  });
  unrolled<A>([&]<int I>() {
    unrolled<A>([&]<int J>() {
      store(to + (I * A + J) * to_step, combine<W::input[J], A>([&](int k) { return half[I][k]; }));
    });
  });
}

/// The largest of At m A, a tile's 2 x 2 outputs, for one register of channels.
template <int R, class T>
Largest<T> winograd_largest(const T* m, std::ptrdiff_t step) {
  using W = Winograd<R>;
  constexpr int A = W::A;
  vec<T> half[2][A];
  unrolled<A>([&]<int J>() {
    vec<T> in[A];
    for (int i = 0; i < A; ++i) in[i] = load(m + (i * A + J) * step);
    unrolled<2>([&]<int I>() { half[I][J] = combine<W::output[I], A>([&](int k) { return in[k]; }); });
  });
  const auto out = [&]<int I, int J>() {
    return combine<W::output[J], A>([&](int k) { return half[I][k]; });
  };
  Largest<T> top { out.template operator()<0, 0>() };
  top.take(out.template operator()<0, 1>(), 1);
  top.take(out.template operator()<1, 0>(), 2);
  top.take(out.template operator()<1, 1>(), 3);
  return top;
}

/// One point's product: tiles x input channels times input channels x output channels.
constexpr Product winograd_product(const Contraction& c, int c_step) {
  return {{1, 0, winograd_tiles(c), c.ci}, {1, 0, c.ci, 1}, 0, c.cols, c_step};
}

/// Output rows [first, last) of one sample, as convolve(); `weight` is prepared: [points][ci][cols].
template <int R, class T, class D, class Chain>
void convolve_winograd(D d, int sample, int first, int last, const T* x, const T* weight, const T* bias, T* y,
                       WindowIndex* argmax, const Chain& chain, ops::Draw draw, T* scratch) {
  constexpr int L = lanes<T>, points = Winograd<R>::A * Winograd<R>::A;
  const Contraction whole = d.get();
  const int band = winograd_rows(whole);
  T* const inputs = scratch;                                            // [points][tiles][ci]
  T* const sums = scratch + points * winograd_tiles(whole) * whole.ci;  // [points][tiles][V registers]
  for (int top = first; top < last; top += band) {
    const int rows = std::min(band, last - top);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < whole.out_w(); ++j)
        for (int channel = 0; channel < whole.ci; channel += L) {
          const Contraction c = d.get();
          winograd_input<R>(x + (2 * (top + i) * c.w + 2 * j) * c.ci + channel, c.w * c.ci, c.ci,
                            inputs + (i * c.out_w() + j) * c.ci + channel, winograd_tiles(c) * c.ci);
        }
    panels<T, D::value.cols>(whole.cols, [&]<int V>(int col) {
      const Contraction c = d.get();
      const int tiles = winograd_tiles(c), here = rows * c.out_w();
      for (int point = 0; point < points; ++point)
        contract<V, false>(derive<winograd_product, V * L>(d), here, inputs + point * tiles * c.ci,
                           weight + point * c.ci * c.cols + col, sums + point * tiles * V * L);
      const Finish<T, V, Chain> finish({sample, col, c.co}, c.co, bias, chain, draw);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < c.out_w(); ++j)
          for (int v = 0; v < V; ++v) {
            const Largest<T> most =
                winograd_largest<R>(sums + ((i * c.out_w() + j) * V + v) * L, tiles * V * L);
            const int at = c.out_origin() + (top + i) * c.out_pitch() + j * c.cols + col + v * L;
            store(y + at, finish(v, most.value, (top + i) * c.out_w() + j));
            if (argmax) store_index<T>(argmax + at, most.index);
          }
    });
  }
}

}  // namespace kern::host
