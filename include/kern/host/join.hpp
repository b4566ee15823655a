// Where branches come together: sums and concatenations of two outputs.
#pragma once
#include <algorithm>

#include "finish.hpp"

namespace kern::host {

/// Channels [k, k + lanes<T>) of those that an input gives to a pixel of the output; 0 beyond them, and below
/// 0.
template <class T>
vec<T> joined_part(const Join& s, const StoredImage& in, int channels, const T* x, int k, int pixel) {
  if (s.pixel_by_pixel(in) && k >= 0 && k + lanes<T> <= in.cols) return load(x + in.at(k, pixel));
  vec<T> v{};
  for (int l = std::max(0, -k); l < lanes<T> && k + l < channels; ++l) v[l] = x[s.in_at(in, k + l, pixel)];
  return v;
}

/// Rows [first, last) of one sample.
template <class T, class D, class Chain>
void join_forward(D d, int sample, int first, int last, const T* a, const T* b, T* y, const Chain& chain,
                  ops::Draw draw) {
  const Join s = d.get();
  const int of_a = s.channels(0), of_b = s.channels(1), behind = s.first_channel(1);
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
    const mask<T> from_a = lanes_below<T>(of_a - channel);
    for (int i = first; i < last; ++i)
      for (int j = 0; j < s.w; ++j) {
        const int pixel = i * s.w + j;
        const vec<T> va = joined_part(s, s.a, of_a, a, channel, pixel),
                     vb = joined_part(s, s.b, of_b, b, channel - behind, pixel);
        const vec<T> v = s.joining == join_sum ? va + vb : from_a ? va : vb;
        store(y + s.output().at(channel, pixel), finish(0, v, pixel));
      }
  }
}

/// One sample, dy taken back through the chain: dx of an input.
template <int Which, class T, class D>
void join_backward(D d, const T* dy, T* dx) {
  const Join s = d.get();
  const StoredImage in = s.input(Which);
  const int behind = s.first_channel(Which);
  for (int k = 0; k < in.cols; k += lanes<T>) {
    const mask<T> real = lanes_below<T>(in.c - k);
    for (int pixel = 0; pixel < in.h * in.w; ++pixel) {
      vec<T> v{};
      if (s.pixel_by_pixel(in) && behind + k + lanes<T> <= s.cols)
        v = load(dy + s.out_at(in, behind, k, pixel));
      else
        for (int l = 0; l < lanes<T> && k + l < in.c; ++l) v[l] = dy[s.out_at(in, behind, k + l, pixel)];
      store(dx + in.at(k, pixel), real ? v : vec<T>{});
    }
  }
}

/// to += from, one sample; borders are left alone.
template <class T>
void add_image(const StoredImage& s, const T* from, T* to) {
  for (int i = 0; i < s.h; ++i) {
    const int row = s.origin() + i * s.pitch();
    for (int e = row; e < row + s.w * s.cols; e += lanes<T>) store(to + e, load(to + e) + load(from + e));
  }
}

}  // namespace kern::host
