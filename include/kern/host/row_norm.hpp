// Layer normalisation of one sample: a register of channels at a time.
#pragma once
#include "../ops/layer_norm.hpp"
#include "finish.hpp"

namespace kern::host {

template <class T>
T sum_of_lanes(const vec<T>& v) {
  T sum{};
  for (int i = 0; i < lanes<T>; ++i) sum += v[i];
  return sum;
}

/// f(element of a row, its lanes that are no padding) for a row's registers, channel by channel.
template <class T, class F>
void each_of_row(const RowNorm& s, F f) {
  for (int channel = 0; channel < s.cols; channel += lanes<T>) {
    const mask<T> real = lanes_below<T>(s.c - channel);
    for (int p = 0; p < s.pixels(); ++p) f(p * s.cols + channel, real);
  }
}

template <class T>
ops::RowStatistics<T> row_statistics(const RowNorm& s, const T* x) {
  vec<T> sum{}, squares{};
  each_of_row<T>(s, [&](int e, const mask<T>&) { sum += load(x + e); });
  const T mean = sum_of_lanes<T>(sum) / T(s.count());
  each_of_row<T>(s, [&](int e, const mask<T>& real) {
    const vec<T> apart = real ? load(x + e) - mean : vec<T>{};
    squares = fma<T>(apart, apart, squares);
  });
  return {mean, sum_of_lanes<T>(squares), s.count(), s.eps()};
}

/// weight and bias may be null: 1 and 0.
template <class T, class D, class Chain>
void row_norm_forward(D d, int sample, const T* x, const T* weight, const T* bias, T* y, const Chain& chain,
                      ops::Draw draw) {
  const RowNorm s = d.get();
  for (int row = 0; row < s.rows; ++row) {
    const T* const from = x + row * s.weight_size();
    const auto statistics = row_statistics(s, from);
    for (int channel = 0; channel < s.cols; channel += lanes<T>) {
      const Finish<T, 1, Chain> finish({sample, channel, s.c}, s.c, nullptr, chain, draw);
      for (int p = 0; p < s.pixels(); ++p) {
        const int e = p * s.cols + channel;
        const vec<T> v = fma<T>(statistics.normalised(load(from + e)),
                                weight ? load(weight + e) : splat(T(1)), bias ? load(bias + e) : vec<T>{});
        store(y + s.out_at(row, e), finish(0, v, row * s.pixels() + p));
      }
    }
  }
}

/// dy: after undo_chain(). dw, and db behind it, get the sample's sums added; null: none.
template <bool DataGradient, class T, class D>
void row_norm_backward(D d, const T* x, const T* weight, const T* dy, T* dx, T* dw) {
  const RowNorm s = d.get();
  for (int row = 0; row < s.rows; ++row) {
    const T* const from = x + row * s.weight_size();
    const auto statistics = row_statistics(s, from);
    const auto gradient = [&](int e) {
      const vec<T> g = load(dy + s.out_at(row, e));
      return weight ? g * load(weight + e) : g;
    };
    vec<T> sum{}, products{};
    each_of_row<T>(s, [&](int e, const mask<T>&) {
      const vec<T> in = statistics.normalised(load(from + e)), g = gradient(e);
      sum += g;
      products = fma<T>(g, in, products);
      if (!dw) return;
      const vec<T> out = load(dy + s.out_at(row, e));
      store(dw + e, fma<T>(out, in, load(dw + e)));
      store(dw + s.weight_size() + e, load(dw + s.weight_size() + e) + out);
    });
    if constexpr (DataGradient) {
      const T mean_g = sum_of_lanes<T>(sum) / T(s.count()),
              mean_product = sum_of_lanes<T>(products) / T(s.count());
      T* const to = dx + row * s.weight_size();
      each_of_row<T>(s, [&](int e, const mask<T>& real) {
        const vec<T> v =
            statistics.backward(gradient(e), statistics.normalised(load(from + e)), mean_g, mean_product);
        store(to + e, real ? v : vec<T>{});
      });
    }
  }
}

}  // namespace kern::host
