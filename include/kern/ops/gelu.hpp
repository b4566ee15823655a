#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x * P(x), P(x) = (1 + erf(x / sqrt 2)) / 2, the normal distribution;
/// dy/dx = P(x) + x * exp(-x^2 / 2) / sqrt(2 pi).
struct Gelu {
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::input;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    using T = element_of<V>;
    KERN_HOST_DEVICE static V below(V x) { return (1 + math::erf(x * T(0.70710678118654752))) * T(0.5); }
    KERN_HOST_DEVICE V forward(V x, int) const { return x * below(x); }
    KERN_HOST_DEVICE V backward(V dy, V x, int) const {
      const V density = math::exp(x * x * T(-0.5)) * T(0.39894228040143268);
      return dy * (below(x) + x * density);
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

/// y = x * (1 + t) / 2, t = tanh u, u = sqrt(2 / pi) * (x + 0.044715 x^3);
/// dy/dx = (1 + t + x * (1 - t^2) * du/dx) / 2.
struct GeluTanh {
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::input;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    using T = element_of<V>;
    static constexpr T slope = T(0.79788456080286536), cubic = T(0.044715);
    KERN_HOST_DEVICE static V bend(V x) { return math::tanh((x + x * x * x * cubic) * slope); }
    KERN_HOST_DEVICE V forward(V x, int) const { return x * (1 + bend(x)) * T(0.5); }
    KERN_HOST_DEVICE V backward(V dy, V x, int) const {
      const V t = bend(x), du = (1 + x * x * (3 * cubic)) * slope;
      return dy * ((1 + t + x * (1 - t * t) * du) * T(0.5));
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
