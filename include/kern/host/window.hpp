// The largest, or the mean, over windows.
#pragma once
#include <algorithm>

#include "finish.hpp"

namespace kern::host {

/// Output rows [first, last) of one sample.
template <class T, class D, class Chain>
void window_forward(D d, int sample, int first, int last, const T* x, T* y, WindowIndex* argmax,
                    const Chain& chain, ops::Draw draw) {
  const Window s = d.get();
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
    const auto at = [&](int row, int column) { return load(x + (row * s.w + column) * s.cols + channel); };
    for (int i = first; i < last; ++i) {
      const Span rows = s.rows(i);
      for (int j = 0; j < s.out_w(); ++j) {
        const Span columns = s.columns(j);
        const int e = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        vec<T> result{};
        if (s.pooling == pool_max) {
          const int top = i * s.stride_h - s.pad_h, left = j * s.stride_w - s.pad_w;
          const auto index = [&](int row, int column) { return (row - top) * s.kw + column - left; };
          Largest<T> most{at(rows.first, columns.first), mask<T>{} + index(rows.first, columns.first)};
          for (int a = rows.first; a < rows.last; ++a)
            for (int b = columns.first; b < columns.last; ++b) most.take(at(a, b), index(a, b));
          result = most.value;
          if (argmax) store_index<T>(argmax + e, most.index);
        } else {
          for (int a = rows.first; a < rows.last; ++a)
            for (int b = columns.first; b < columns.last; ++b) result += at(a, b);
          result = result / T(s.divisor(rows, columns));
        }
        store(y + e, finish(0, result, i * s.out_w() + j));
      }
    }
  }
}

/// One sample, dy after undo_chain(): each g goes to the input that won its window, or to all of them.
template <class T, class D>
void window_backward(D d, const T* dy, const WindowIndex* argmax, T* dx) {
  const Window s = d.get();
  std::fill_n(dx, s.in_size(), T{});
  for (int channel = 0; channel < s.cols; channel += lanes<T>)
    for (int i = 0; i < s.out_h(); ++i) {
      const Span rows = s.rows(i);
      for (int j = 0; j < s.out_w(); ++j) {
        const Span columns = s.columns(j);
        const int e = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        vec<T> g = load(dy + e);
        mask<T> won{};
        if (s.pooling == pool_max)
          won = load_index<T>(argmax + e);
        else
          g = g / T(s.divisor(rows, columns));
        const int top = i * s.stride_h - s.pad_h, left = j * s.stride_w - s.pad_w;
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            T* const to = dx + (a * s.w + b) * s.cols + channel;
            const bool all = s.pooling != pool_max;
            store(to, all ? load(to) + g : won == (a - top) * s.kw + b - left ? load(to) + g : load(to));
          }
      }
    }
}

}  // namespace kern::host
