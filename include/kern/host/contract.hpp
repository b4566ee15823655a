// C[r][n] = sum over k of A(r, k) * B(k, n), the one matrix product under every direction of a convolution
// and of a linear layer. A is never packed: it is memory seen through two nested loops a side, which makes it
// an image read as patches, the same transposed, or a plain matrix. B's columns are consecutive in memory.
//
// Each element of C is one chain of multiply-adds in the order of k, whatever the tile: its bits depend on
// values alone.
#pragma once
#include <algorithm>

#include "../core/known.hpp"
#include "../core/simd.hpp"

#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675  // `#pragma GCC unroll` is for the host compiler
#endif

namespace kern::host {

/// An index that counts `outer` x `inner` steps through memory: index o * inner + i is at
/// o * outer_step + i * inner_step.
struct Walk {
  int outer, outer_step, inner, inner_step;
  constexpr int size() const { return outer * inner; }
};

/// Where the elements of A and B stand. Row k of B is at o * b_outer_step + i * b_step, o and i as in `k`.
struct Product {
  Walk row, k;
  int b_outer_step, b_step;
  int c_step;  // from one row of C to the next
};

/// As many registers as a panel of columns has, and as many rows as a tile has at most: the tile's
/// accumulators, a row of B and a broadcast element of A fill the registers.
inline constexpr int panel = 2;
inline constexpr int max_rows = register_count == 32 ? 14 : 6;
inline constexpr int usual_rows = register_count == 32 ? 8 : 6;

/// The tile height for a walk over rows (dyn: unknown). Best is one that divides its runs, so that the
/// offsets of a tile's rows are constants, if it is large enough to hide the multiply-adds' latency.
constexpr int tile_rows(const Walk& row) {
  if (row.inner == dyn) return usual_rows;
  for (int r = max_rows; r >= (register_count == 32 ? 7 : 5); --r)
    if (row.inner % r == 0) return r;
  return row.outer != dyn && row.size() <= max_rows ? row.size() : usual_rows;
}

/// The first `valid` rows of a tile of C: R rows of V registers; add: C += instead of C =. Row r of A is at
/// a[at[r]].
template <int R, int V, class T>
[[gnu::always_inline]] inline void tile(const Walk& k, int b_outer_step, int b_step, const T* a,
                                        const int (&at)[R], const T* b, T* c, int c_step, int valid,
                                        bool add) {
  constexpr int L = lanes<T>;
  // Indexed by constants only, so that it lives in registers.
  vec<T> sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[r][v] = add && r < valid ? load(c + r * c_step + v * L) : vec<T>{};
  for (int o = 0; o < k.outer; ++o) {
    const T* p = a + o * k.outer_step;
    const T* q = b + o * b_outer_step;
#pragma GCC unroll 1
    for (int i = 0; i < k.inner; ++i, p += k.inner_step, q += b_step) {
      vec<T> w[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) w[v] = R > 2 ? hold<T>(load(q + v * L)) : load(q + v * L);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const vec<T> x = splat(p[at[r]]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v] = fma<T>(x, w[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    if (r < valid) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) store(c + r * c_step + v * L, sum[r][v]);
    }
}

/// `rows` rows of C, V registers wide; Add: C += instead of C =. d's value is a Product. a and b stand at A's
/// first row and at B's first of these columns, c likewise. Not inlined: its tiles need all registers.
template <int V, bool Add, class T, class D>
[[gnu::noinline]] void contract(D d, int rows, const T* a, const T* b, T* c) {
  constexpr int run = D::value.row.inner, R = tile_rows(D::value.row);
  const Product p = d.get();
  if constexpr (run != dyn && run % R == 0) {
    for (int o = 0, r = 0; r < rows; ++o)
      for (int i = 0; i < run && r < rows; i += R, r += R) {
        int at[R];
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j) at[j] = j * p.row.inner_step;
        tile<R, V>(p.k, p.b_outer_step, p.b_step, a + o * p.row.outer_step + i * p.row.inner_step, at, b,
                   c + r * p.c_step, p.c_step, R, Add);
      }
  } else {
    int o = 0, i = 0;
    for (int r = 0; r < rows; r += R) {
      const int valid = std::min(R, rows - r);
      int at[R];
      for (int j = 0; j < R; ++j) {
        at[j] = o * p.row.outer_step + i * p.row.inner_step;
        if (j + 1 < valid || valid == R) {  // what stands behind the last row repeats it
          if (++i == p.row.inner) i = 0, ++o;
        }
      }
      tile<R, V>(p.k, p.b_outer_step, p.b_step, a, at, b, c + r * p.c_step, p.c_step, valid, Add);
    }
  }
}

/// f.operator()<V>(col) for panels of V registers of columns that cover n of them; N: n if known, or dyn.
template <class T, int N, class F>
[[gnu::always_inline]] inline void panels(int n, F&& f) {
  constexpr int L = lanes<T>;
  int col = 0;
  if constexpr (N == dyn || N >= panel * L)
    for (; col + panel * L <= n; col += panel * L) f.template operator()<panel>(col);
  if constexpr (N == dyn || N % (panel * L) != 0)
    for (; col < n; col += L) f.template operator()<1>(col);
}

}  // namespace kern::host

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
