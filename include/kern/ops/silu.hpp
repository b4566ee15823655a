#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x * s, s = 1 / (1 + exp(-x));  dy/dx = s * (1 + x * (1 - s)).
struct Silu {
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::input;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return x * math::sigmoid(x); }
    KERN_HOST_DEVICE V backward(V dy, V x, int) const {
      const V s = math::sigmoid(x);
      return dy * (s * (1 + x * (1 - s)));
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
