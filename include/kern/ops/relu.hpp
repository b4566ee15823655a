#pragma once
#include "chain.hpp"

namespace kern::ops {

/// y = max(x, 0);  dy/dx = 1 where y > 0, else 0. NaN stays NaN.
struct Relu {
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::sign;
  static constexpr Keeps keeps = Keeps::sign;
  static constexpr bool stops = true;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return x < V{} ? V{} : x; }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const { return y > V{} ? dy : V{}; }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
