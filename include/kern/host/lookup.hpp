// An embedding.
#pragma once
#include <algorithm>

#include "finish.hpp"

namespace kern::host {

/// Positions [first, last) of one sample.
template <class T, class D, class Chain>
void lookup_forward(D d, int sample, int first, int last, const T* x, const T* weight, T* y,
                    const Chain& chain, ops::Draw draw) {
  const Lookup s = d.get();
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
    for (int i = first; i < last; ++i)
      store(y + s.out_origin() + i * s.out_pitch() + channel,
            finish(0, load(weight + std::ptrdiff_t(x[i]) * s.cols + channel), i));
  }
}

/// Rows [first, last) of dw: the sum of dy over the places that hold the row's number, in order. dy: after
/// undo_chain().
template <class T>
void lookup_gradient(const Lookup& s, int samples, int first, int last, const T* x, const T* dy, T* dw) {
  std::fill_n(dw + std::ptrdiff_t(first) * s.cols, std::ptrdiff_t(last - first) * s.cols, T{});
  for (int sample = 0; sample < samples; ++sample, x += s.in_size(), dy += s.out_size())
    for (int i = 0; i < s.positions; ++i) {
      const int row = int(x[i]);
      if (row < first || row >= last || row == s.padding) continue;
      T* const to = dw + std::ptrdiff_t(row) * s.cols;
      const T* const from = dy + s.out_origin() + i * s.out_pitch();
      for (int channel = 0; channel < s.cols; channel += lanes<T>)
        store(to + channel, load(to + channel) + load(from + channel));
    }
}

}  // namespace kern::host
