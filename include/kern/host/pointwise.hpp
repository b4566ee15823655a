// Pointwise ops that no other stage takes along.
#pragma once
#include "finish.hpp"

namespace kern::host {

/// Rows [first, last) of one sample of a Pointwise or a Norm.
template <class T, class D, class Chain>
void pointwise_forward(D d, int sample, int first, int last, const T* x, T* y, const Chain& chain,
                       ops::Draw draw) {
  const auto s = d.get();
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
    for (int i = first; i < last; ++i)
      for (int j = 0; j < s.w; ++j) {
        const int pixel = i * s.w + j, e = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        store(y + e, finish(0, load(x + pixel * s.cols + channel), pixel));
      }
  }
}

/// One sample: dx = dL/dx from x and dy, dL/dy.
template <class T, class D, class Chain>
void pointwise_backward(D d, int sample, const T* x, const T* dy, T* dx, const Chain& chain, ops::Draw draw) {
  const Pointwise s = d.get();
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const auto op = chain.template bind<vec<T>>({sample, channel, s.c}, draw);
    for (int i = 0; i < s.h; ++i)
      for (int j = 0; j < s.w; ++j) {
        const int pixel = i * s.w + j, in = pixel * s.cols + channel;
        const int out = s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
        store(dx + in, op.backward_from_input(load(dy + out), load(x + in), pixel));
      }
  }
}

}  // namespace kern::host
