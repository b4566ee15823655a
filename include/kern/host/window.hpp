// A max over windows, or (1 x 1) pointwise ops alone.
#pragma once
#include <algorithm>

#include "finish.hpp"

namespace kern::host {

/// The part [first, last) of a window along one side that lies inside the input.
struct Inside {
  int first, last;
  constexpr Inside(int at, int window, int size)
      : first(std::max(0, -at)), last(std::min(window, size - at)) {}
};

/// Output rows [first, last) of one sample.
template <class T, class D, class Chain>
void window_forward(D d, int sample, int first, int last, const T* x, T* y, WindowIndex* argmax,
                    const Chain& chain, Draw draw) {
  const Window s = d.get();
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
    for (int i = first; i < last; ++i) {
      const int top = i * s.stride_h - s.pad_h;
      const Inside rows(top, s.kh, s.h);
      for (int j = 0; j < s.out_w(); ++j) {
        const int left = j * s.stride_w - s.pad_w;
        const Inside columns(left, s.kw, s.w);
        const auto at = [&](int a, int b) { return x + ((top + a) * s.w + left + b) * s.cols + channel; };
        Largest<T> most{load(at(rows.first, columns.first)), mask<T>{} + (rows.first * s.kw + columns.first)};
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) most.take(load(at(a, b)), a * s.kw + b);
        const int e = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        store(y + e, finish(0, most.value, i * s.out_w() + j));
        if (argmax) store_index<T>(argmax + e, most.index);
      }
    }
  }
}

/// One sample, dy after undo_chain(): each g goes to the input that won its window.
template <class T, class D>
void window_backward(D d, const T* dy, const WindowIndex* argmax, T* dx) {
  const Window s = d.get();
  std::fill_n(dx, s.in_size(), T{});
  for (int channel = 0; channel < s.cols; channel += lanes<T>)
    for (int i = 0; i < s.out_h(); ++i) {
      const int top = i * s.stride_h - s.pad_h;
      const Inside rows(top, s.kh, s.h);
      for (int j = 0; j < s.out_w(); ++j) {
        const int left = j * s.stride_w - s.pad_w;
        const Inside columns(left, s.kw, s.w);
        const int e = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        const vec<T> g = load(dy + e);
        const mask<T> won = s.kh * s.kw > 1 ? load_index<T>(argmax + e) : mask<T>{};
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            T* const to = dx + ((top + a) * s.w + left + b) * s.cols + channel;
            store(to, won == a * s.kw + b ? load(to) + g : load(to));
          }
      }
    }
}

}  // namespace kern::host
