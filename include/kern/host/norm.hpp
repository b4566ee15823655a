// Passes of a batch normalisation over some samples. A register of features at a time.
#pragma once
#include "../ops/batch_norm.hpp"
#include "finish.hpp"

namespace kern::host {

/// f(pixel, element) for all elements of a sample that the features from `feature` on have.
template <class F>
void each_pixel_of(const Norm& s, int feature, F f) {
  for (int p = 0; p < s.positions(); ++p) f(s.each_pixel ? feature / s.cols : p, p * s.cols + feature);
}

/// Means, and sums of squared distances from them, of `samples` samples: see NormParts.
template <class T, class D>
void norm_measure(D d, int samples, const T* x, T* part) {
  const Norm s = d.get();
  const T count = T(samples * s.positions());
  for (int feature = 0; feature < s.features(); feature += lanes<T>) {
    const vec<T> about = load(x + feature);  // near the mean, so that no digits are lost
    vec<T> sum{}, squares{};
    for (int i = 0; i < samples; ++i)
      each_pixel_of(s, feature, [&](int, int e) {
        const vec<T> apart = load(x + std::ptrdiff_t(i) * s.in_size() + e) - about;
        sum += apart;
        squares = fma<T>(apart, apart, squares);
      });
    store(part + feature, about + sum / count);
    store(part + s.features() + feature, squares - sum * sum / count);
  }
}

/// dL/dy of `samples` samples -> dL/d(what the chain got), in place; its sums and those of its products with
/// the normalised x: see NormParts.
template <class T, class D, class Chain>
void norm_sums(D d, int first, int samples, const T* x, const ops::NormState<T>& state, T* dy, T* part,
               const Chain& chain, ops::Draw draw) {
  const Norm s = d.get();
  for (int feature = 0; feature < s.features(); feature += lanes<T>) {
    const int channel = feature % s.cols;
    const vec<T> scale = load(state.scale + feature), shift = load(state.shift + feature),
                 mean = load(state.mean + feature), inverse = load(state.inverse + feature);
    vec<T> sum{}, products{};
    for (int i = 0; i < samples; ++i) {
      const auto op = chain.template bind<vec<T>>({first + i, channel, s.c}, draw);
      each_pixel_of(s, feature, [&](int pixel, int e) {
        const vec<T> in = load(x + std::ptrdiff_t(i) * s.in_size() + e);
        T* const at = dy + std::ptrdiff_t(i) * s.out_size() + s.out_origin() + pixel / s.w * s.out_pitch() +
                      pixel % s.w * s.cols + channel;
        const vec<T> g = op.backward_from_input(load(at), in * scale + shift, pixel);
        store(at, g);
        sum += g;
        products = fma<T>(g, (in - mean) * inverse, products);
      });
    }
    store(part + feature, sum);
    store(part + s.features() + feature, products);
  }
}

/// One sample, dy after norm_sums(): dx.
template <class T, class D>
void norm_backward(D d, const T* x, const ops::NormState<T>& state, const T* dy, T* dx) {
  const Norm s = d.get();
  for (int pixel = 0; pixel < s.h * s.w; ++pixel)
    for (int channel = 0; channel < s.cols; channel += lanes<T>) {
      const int f = pixel * s.feature_step() + channel, e = pixel * s.cols + channel;
      const vec<T> g =
          load(dy + s.out_origin() + pixel / s.w * s.out_pitch() + pixel % s.w * s.cols + channel);
      store(dx + e, load(state.scale + f) * (g - load(state.gradient_mean + f)) +
                        load(state.slope + f) * (load(x + e) - load(state.mean + f)));
    }
}

}  // namespace kern::host
