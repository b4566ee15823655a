// Weights, and sums of their gradients, from one layout to another: blocks of lanes x lanes, transposed in
// registers.
#pragma once
#include "../core/simd.hpp"

namespace kern::host {

/// A block: row i of `get` becomes column i. get(i) gives a register, put(i, register) takes one.
template <class T, class Get, class Put>
[[gnu::always_inline]] inline void turn_block(Get&& get, Put&& put) {
  vec<T> r[lanes<T>];
  for (int i = 0; i < lanes<T>; ++i) r[i] = get(i);
  transpose<T>(r);
  for (int i = 0; i < lanes<T>; ++i) put(i, r[i]);
}

/// to[j][i] = from[i][j] for i < rows, j < cols (a multiple of lanes); zeros for rows <= i < rows rounded up
/// to lanes.
template <class T>
void turn(int rows, int cols, const T* from, int from_step, T* to, int to_step) {
  constexpr int L = lanes<T>;
  for (int i = 0; i < rows; i += L)
    for (int j = 0; j < cols; j += L)
      turn_block<T>([&](int n) { return i + n < rows ? load(from + (i + n) * from_step + j) : vec<T>{}; },
                    [&](int n, const vec<T>& v) { store(to + (j + n) * to_step + i, v); });
}

}  // namespace kern::host
