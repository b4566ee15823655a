#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = 1 / (1 + exp(-x));  dy/dx = y * (1 - y).
struct Sigmoid {
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::output;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return math::sigmoid(x); }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const { return dy * (y * (1 - y)); }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
