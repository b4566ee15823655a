#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = tanh x;  dy/dx = 1 - y^2.
struct Tanh {
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::output;
  static constexpr Keeps keeps = Keeps::sign;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return math::tanh(x); }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const { return dy * (1 - y * y); }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
