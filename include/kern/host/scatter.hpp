// Backward through a contraction whose output gradient is mostly zeros (behind a max-pool), or whose outputs
// stand apart (strided). One pass over the gradient's non-zeros does both gradients: for every g of channel o
// whose patch of the input stands at `at`,
//   dw[o][a][i] += g * x[at + a*row + i]      dx[at + a*row + i] += g * w[o][a][i]
// over kernel rows a and the kw*ci consecutive elements i of each. The weights are "turned" for it:
// [co][kh][kw*ci rounded up to registers], and dw is laid out alike.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../core/known.hpp"
#include "../core/round.hpp"
#include "../core/simd.hpp"
#include "../core/stage.hpp"

#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675  // `#pragma GCC unroll` is for the host compiler
#endif

namespace kern::host {

/// A non-zero of the gradient, and where its patch of the input stands.
template <class T>
struct Hit {
  int at;
  T g;
};

/// The part of a kernel that is worked on at a time: its dw and w stay in registers over all hits of a
/// channel. It fixes the order of dx's sums, so it may depend on values only.
struct ScatterBlock {
  int rows, vectors;
};
constexpr ScatterBlock scatter_block(int kh, int row_vectors) {
  constexpr int most = register_count == 32 ? 12 : 6;
  if (row_vectors > most) return {1, most};
  return {std::min(kh, std::max(1, most / row_vectors)), row_vectors};
}

/// Output rows that are taken at a time, all channels of them: few, so that the inputs they touch stay in the
/// nearest cache; but enough that a channel has some hits. It fixes the order of sums, too.
constexpr int scatter_band(const Contraction& c) {
  return std::min(c.out_h(), std::max(1, (15 + c.out_w()) / c.out_w()));
}

/// Registers in one row of a turned kernel, and elements of a whole one.
template <class T>
constexpr int turned_row(const Contraction& c) {
  return math::round_up(c.kw * c.ci, lanes<T>) / lanes<T>;
}
template <class T>
constexpr int turned_kernel(const Contraction& c) {
  return c.kh * turned_row<T>(c) * lanes<T>;
}
/// Elements of work space: a channel's hits, and where each element of a pool window stands.
template <class T>
constexpr std::size_t scatter_scratch(const Contraction& c) {
  const std::size_t bytes = std::size_t(scatter_band(c) * c.out_w() + 1) * sizeof(Hit<T>) +
                            std::size_t(c.pool_h * c.pool_w) * sizeof(int);
  return bytes / sizeof(T) + 2;
}

/// One block of one channel's kernel, all its hits. `row` is one input row.
template <bool DataGradient, int Rows, int V, class T>
[[gnu::noinline]] void scatter_hits(const Hit<T>* hit, const Hit<T>* end, std::ptrdiff_t row, int turned_row,
                                    const T* x, const T* w, T* dx, T* dw) {
  constexpr int L = lanes<T>;
  vec<T> sum[Rows][V], weight[Rows][V];
#pragma GCC unroll 16
  for (int a = 0; a < Rows; ++a)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      sum[a][v] = load(dw + a * turned_row + v * L);
      if constexpr (DataGradient) weight[a][v] = load(w + a * turned_row + v * L);
    }
  for (; hit != end; ++hit) {
    const vec<T> g = splat(hit->g);
    const std::ptrdiff_t at = hit->at;  // read once: as far as the compiler sees, dx may lie over the hits
#pragma GCC unroll 16
    for (int a = 0; a < Rows; ++a) {
      const T* const from = x + at + a * row;
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        sum[a][v] = fma<T>(g, load(from + v * L), sum[a][v]);
        if constexpr (DataGradient) {
          T* const to = dx + at + a * row + v * L;
          store(to, fma<T>(g, weight[a][v], load(to)));
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int a = 0; a < Rows; ++a)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store(dw + a * turned_row + v * L, sum[a][v]);
}

/// The same for a block whose size is not known to the compiler.
template <bool DataGradient, class T>
void scatter_hits(ScatterBlock block, const Hit<T>* hit, const Hit<T>* end, int row, int turned_row,
                  const T* x, const T* w, T* dx, T* dw) {
  constexpr int L = lanes<T>;
  for (; hit != end; ++hit) {
    const vec<T> g = splat(hit->g);
    const int at = hit->at;
    for (int a = 0; a < block.rows; ++a)
      for (int v = 0; v < block.vectors; ++v) {
        const int e = at + a * row + v * L, t = a * turned_row + v * L;
        store(dw + t, fma<T>(g, load(x + e), load(dw + t)));
        if constexpr (DataGradient) store(dx + e, fma<T>(g, load(w + t), load(dx + e)));
      }
  }
}

/// dx alone, where whole registers would reach beyond a row of the kernel (channels that are not padded).
template <class T>
void scatter_narrow(const Contraction& c, const Hit<T>* hit, const Hit<T>* end, const T* w, T* dx) {
  for (; hit != end; ++hit)
    for (int a = 0; a < c.kh; ++a)
      for (int i = 0; i < c.kw * c.ci; ++i)
        dx[hit->at + a * c.w * c.ci + i] += hit->g * w[a * turned_row<T>(c) * lanes<T> + i];
}

/// All hits of one channel, block by block.
template <bool DataGradient, class T, class D>
void scatter_channel(D d, const Hit<T>* hit, const Hit<T>* end, const T* x, const T* w, T* dx, T* dw) {
  constexpr int L = lanes<T>;
  const Contraction c = d.get();
  const int row = c.w * c.ci, vectors = turned_row<T>(c);
  const ScatterBlock block = scatter_block(c.kh, vectors);
  for (int a = 0; a < c.kh; a += block.rows)
    for (int v = 0; v < vectors; v += block.vectors) {
      const ScatterBlock part{std::min(block.rows, c.kh - a), std::min(block.vectors, vectors - v)};
      const int e = a * row + v * L, t = (a * vectors + v) * L;
      T* const to = DataGradient ? dx + e : nullptr;
      if constexpr (all_known(D::value)) {
        constexpr ScatterBlock known = scatter_block(D::value.kh, turned_row<T>(D::value));
        constexpr ScatterBlock last{(D::value.kh - 1) % known.rows + 1,
                                    (turned_row<T>(D::value) - 1) % known.vectors + 1};
        const auto run = [&]<int Rows, int V>() {
          scatter_hits<DataGradient, Rows, V>(hit, end, row, vectors * L, x + e, w + t, to, dw + t);
        };
        if (part.rows == known.rows && part.vectors == known.vectors)
          run.template operator()<known.rows, known.vectors>();
        else if (part.rows == known.rows)
          run.template operator()<known.rows, last.vectors>();
        else
          run.template operator()<last.rows, known.vectors>();
      } else {
        scatter_hits<DataGradient>(part, hit, end, row, vectors * L, x + e, w + t, to, dw + t);
      }
    }
}

/// One sample: dy (dL/d of what the pool gave) and argmax (null: no pool) stand at the sample.
template <bool DataGradient, class T, class D>
void scatter(D d, const T* x, const T* turned, const T* dy, const WindowIndex* argmax, T* dx, T* dw,
             T* scratch) {
  const Contraction c = d.get();
  const int band = scatter_band(c);
  auto* const hits = reinterpret_cast<Hit<T>*>(scratch);
  auto* const window = reinterpret_cast<int*>(hits + band * c.out_w() + 1);
  const int step_h = c.stride_h * c.w * c.ci, step_w = c.stride_w * c.ci;
  for (int a = 0; a < c.pool_h; ++a)
    for (int b = 0; b < c.pool_w; ++b) window[a * c.pool_w + b] = a * step_h + b * step_w;
  const bool narrow = DataGradient && c.ci % lanes<T> != 0;
  if constexpr (DataGradient) std::fill_n(dx, c.in_size(), T{});
  for (int first = 0; first < c.out_h(); first += band) {
    const int last = std::min(c.out_h(), first + band);
    for (int o = 0; o < c.co; ++o) {
      Hit<T>* end = hits;
      for (int i = first; i < last; ++i) {
        const int from = c.out_origin() + i * c.out_pitch() + o;
        for (int j = 0; j < c.out_w(); ++j) {
          const T g = dy[from + j * c.cols];
          const int in_window = c.pooled() ? window[argmax[from + j * c.cols]] : 0;
          *end = {i * c.pool_h * step_h + j * c.pool_w * step_w + in_window, g};
          end += g != T{};
        }
      }
      const int at = o * turned_kernel<T>(c);
      if (narrow) {
        scatter_channel<false>(d, hits, end, x, turned + at, dx, dw + at);
        scatter_narrow(c, hits, end, turned + at, dx);
      } else {
        scatter_channel<DataGradient>(d, hits, end, x, turned + at, dx, dw + at);
      }
    }
  }
}

}  // namespace kern::host

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
