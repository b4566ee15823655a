#pragma once
#include <cmath>

#include "../core/device_code.hpp"

namespace kern::ops {

/// A norm of many values, for a backend's reduce(): the sum of |x|, the root of the sum of x^2, or the
/// largest |x|; and what gradients are multiplied by so that theirs is max_norm at most:
///   results[0] = norm, results[1] = min(1, max_norm / (norm + 1e-6))
/// Source: the documentation of torch.nn.utils.clip_grad_norm_.
struct Norm {
  static constexpr int results = 2;
  double max_norm;
  bool squares, largest;  // neither: the sum of |x|

  /// What a value, or a register of them, adds.
  template <class V>
  KERN_HOST_DEVICE V term(V x) const {
    return squares ? x * x : x < V{} ? -x : x;
  }
  /// a and b are terms, or what was joined of them. A NaN stays.
  template <class V>
  KERN_HOST_DEVICE V join(V a, V b) const {
    if (!largest) return a + b;
    return ((b > a) | (b != b)) ? b : a;
  }
  KERN_HOST_DEVICE void finish(double total, double* out) const {
    out[0] = squares ? std::sqrt(total) : total;
    const double scale = max_norm / (out[0] + 1e-6);
    out[1] = scale > 1 ? 1 : scale;
  }
};

/// An optimizer's op on gradients that are first multiplied by *scale.
template <class Op, class T>
struct Scaled {
  Op op;
  const double* scale;
  template <class V, class... State>
  KERN_HOST_DEVICE void operator()(V& w, V g, State&... states) const {
    op(w, g * T(*scale), states...);
  }
};

/// An optimizer's op on gradients that are first cut to [-most, most]. A NaN stays.
template <class Op, class T>
struct Clamped {
  Op op;
  T most;
  template <class V, class... State>
  KERN_HOST_DEVICE void operator()(V& w, V g, State&... states) const {
    g = g > most ? V{} + most : g;
    g = g < -most ? V{} - most : g;
    op(w, g, states...);
  }
};

}  // namespace kern::ops
