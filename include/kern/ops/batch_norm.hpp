// Batch normalisation: what its passes over a batch's elements leave to do for each feature, and the op that
// applies it. Sums over a batch come in parts, which are added in order.
#pragma once
#include <cmath>
#include <cstddef>

#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// What is known of a norm's features, an array each, one behind the other.
template <class T>
struct NormState {
  T *scale, *shift;          // y = x * scale + shift
  T *mean, *variance;        // of the batch; the variance is the biased one
  T* inverse;                // 1 / sqrt(variance + eps)
  T *gradient_mean, *slope;  // dx = scale * (g - gradient_mean) + slope * (x - mean), g = dL/dy
  static constexpr std::size_t size(int features) { return 7 * std::size_t(features); }
  NormState() = default;
  NormState(T* at, int features)
      : scale(at),
        shift(at + features),
        mean(at + 2 * features),
        variance(at + 3 * features),
        inverse(at + 4 * features),
        gradient_mean(at + 5 * features),
        slope(at + 6 * features) {}
};

/// Two numbers a feature for each part of a batch: part p's first ones from p * 2 * features on, then its
/// second ones.
template <class T>
struct NormParts {
  const T* at;
  int features, positions;  // elements of a feature in a sample
  int n, chunk;             // samples; those of a part, the last may have fewer
  KERN_HOST_DEVICE int parts() const { return (n + chunk - 1) / chunk; }
  KERN_HOST_DEVICE double count() const { return double(n) * positions; }
  KERN_HOST_DEVICE double count(int part) const {
    const int left = n - part * chunk;
    return double(left < chunk ? left : chunk) * positions;
  }
  KERN_HOST_DEVICE double first(int part, int f) const {
    return double(at[std::ptrdiff_t(part) * 2 * features + f]);
  }
  KERN_HOST_DEVICE double second(int part, int f) const {
    return double(at[(std::ptrdiff_t(part) * 2 + 1) * features + f]);
  }
};

/// scale and shift of feature f from its mean and variance; weight and bias may be null.
template <class T>
struct NormScale {
  const T *weight, *bias;
  double eps;
  KERN_HOST_DEVICE void operator()(const NormState<T>& s, int f, double mean, double variance) const {
    const double inverse = 1 / std::sqrt(variance + eps),
                 scale = weight ? double(weight[f]) * inverse : inverse;
    s.inverse[f] = T(inverse);
    s.scale[f] = T(scale);
    s.shift[f] = T((bias ? double(bias[f]) : 0) - mean * scale);
  }
};

/// The batch's mean and variance from those of its parts (their means, and their sums of squared distances
/// from them): the formula for two sets of T. F. Chan, G. H. Golub and R. J. LeVeque, Updating formulae and a
/// pairwise algorithm for computing sample variances, 1979.
template <class T>
struct MeasureNorm {
  NormParts<T> parts;
  NormScale<T> scale;
  NormState<T> state;
  KERN_HOST_DEVICE void operator()(int f) const {
    double count = 0, mean = 0, squares = 0;
    for (int p = 0; p < parts.parts(); ++p) {
      const double more = parts.count(p), apart = parts.first(p, f) - mean, all = count + more;
      mean += apart * more / all;
      squares += parts.second(p, f) + apart * apart * count * more / all;
      count = all;
    }
    state.mean[f] = T(mean);
    state.variance[f] = T(squares / count);
    scale(state, f, mean, squares / count);
  }
};

/// What the way back needs of a feature, from the sums of g and of g * (x - mean) / sqrt(variance + eps),
/// which are also the gradients of bias and weight.
template <class T>
struct NormGradient {
  NormParts<T> parts;
  NormState<T> state;
  T *dw, *db;  // may be null
  KERN_HOST_DEVICE void operator()(int f) const {
    double sum = 0, product = 0;
    for (int p = 0; p < parts.parts(); ++p) sum += parts.first(p, f), product += parts.second(p, f);
    if (db) db[f] = T(sum);
    if (dw) dw[f] = T(product);
    state.gradient_mean[f] = T(sum / parts.count());
    state.slope[f] = T(-double(state.scale[f]) * double(state.inverse[f]) * product / parts.count());
  }
};

/// running = (1 - momentum) * running + momentum * the batch's; the variance the unbiased one.
template <class T>
struct TrackNorm {
  NormState<T> state;
  double momentum, count;
  T *mean, *variance;
  KERN_HOST_DEVICE void operator()(int f) const {
    mean[f] = T((1 - momentum) * double(mean[f]) + momentum * double(state.mean[f]));
    variance[f] = T((1 - momentum) * double(variance[f]) +
                    momentum * double(state.variance[f]) * (count / (count - 1)));
  }
};

/// scale and shift for inference.
template <class T>
struct RestoreNorm {
  const T *mean, *variance;
  NormScale<T> scale;
  NormState<T> state;
  KERN_HOST_DEVICE void operator()(int f) const { scale(state, f, double(mean[f]), double(variance[f])); }
};

/// The weight and bias of a product with a norm behind it, from the product's own: element i of the weight,
/// then of the bias.
template <class T>
struct FoldNorm {
  const T *weight, *bias;  // the latter may be null
  NormState<T> state;
  int weights, cols;
  T *folded_weight, *folded_bias;
  KERN_HOST_DEVICE void operator()(int i) const {
    const int f = i % cols;
    if (i < weights)
      folded_weight[i] = weight[i] * state.scale[f];
    else
      folded_bias[f] = (bias ? bias[f] * state.scale[f] : T(0)) + state.shift[f];
  }
};

namespace detail {
template <class V, class T>
KERN_HOST_DEVICE V loaded(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
}  // namespace detail

/// y = x * scale + shift, for each channel or, EachPixel, each element of a sample (`step` from one pixel to
/// the next).
template <class T, bool EachPixel>
struct ScaleShift {
  const T *scale, *shift;
  int step;
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::nothing;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    V scale, shift;
    KERN_HOST_DEVICE V forward(V x, int) const { return x * scale + shift; }
  };
  template <class V>
  struct BoundEach {
    const T *scale, *shift;
    int step;
    KERN_HOST_DEVICE V forward(V x, int pixel) const {
      return x * detail::loaded<V>(scale + pixel * step) + detail::loaded<V>(shift + pixel * step);
    }
  };
  template <class V>
  KERN_HOST_DEVICE auto bind(Place at, Draw) const {
    if constexpr (EachPixel)
      return BoundEach<V>{scale + at.channel, shift + at.channel, step};
    else
      return Bound<V>{detail::loaded<V>(scale + at.channel), detail::loaded<V>(shift + at.channel)};
  }
};

}  // namespace kern::ops
