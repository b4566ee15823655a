// Convolutions' weights in the forms that their kernels read, after they changed.
#pragma once
#include <type_traits>

#include "convolve_back.hpp"
#include "grouped.hpp"
#include "scatter.hpp"
#include "thread_pool.hpp"
#include "turn.hpp"
#include "winograd.hpp"

namespace kern::host {

template <class T, class D>
void prepare_forward(ThreadPool& pool, D d, const T* weight, T* prepared) {
  if constexpr (std::is_same_v<typename D::type, Contraction>) {
    const Contraction c = d.get();
    const int step = c.ci * c.cols;  // from one tap, or point, to the next
    if (!uses_winograd<T>(c)) return;
    pool.run(c.ci, [=](int channel, int) {
      const T* const from = weight + channel * c.cols;
      T* const to = prepared + channel * c.cols;
      with_winograd<T>(d, [&]<int R>() { winograd_kernel<R>(c.cols, from, step, to, step); }, [] {});
    });
  }
}

template <class T, class D>
void prepare_backward(ThreadPool& pool, D d, const T* weight, T* prepared) {
  constexpr int L = lanes<T>;
  if constexpr (std::is_same_v<typename D::type, Contraction>) {
    const Contraction c = d.get();
    const int row = c.kw * c.ci;
    if (scattered(c)) {
      // [kh][kw*ci][cols] -> [co][kh][kw*ci rounded up]
      const int step = turned_kernel<T>(c);
      pool.run(c.kh * (c.cols / L), [=](int task, int) {
        const int a = task % c.kh, o = task / c.kh * L;
        for (int i = 0; i < row; i += L)
          turn_block<T>(
              [&](int n) { return i + n < row ? load(weight + (a * row + i + n) * c.cols + o) : vec<T>{}; },
              [&](int n, const vec<T>& v) {
                if (o + n < c.co) store(prepared + (o + n) * step + a * turned_row<T>(c) * L + i, v);
              });
      });
    } else {
      // [kh][kw][ci][cols] -> [kh][kw][cols][ci rounded up], kernel back to front
      const int taps = c.kh * c.kw, channels = turned_channels<T>(c);
      pool.run(taps, [=](int tap, int) {
        turn(c.ci, c.cols, weight + tap * c.ci * c.cols, c.cols,
             prepared + (taps - 1 - tap) * c.cols * channels, channels);
      });
    }
  } else if constexpr (std::is_same_v<typename D::type, GroupedContraction>) {
    const GroupedContraction c = d.get();
    pool.run(c.kh * c.kw, [=](int tap, int) { turn_grouped(c, tap, weight, prepared); });
  }
}

}  // namespace kern::host
