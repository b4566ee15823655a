#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x where x > 0, else slope * x, slope >= 0;  dy/dx = 1 where y > 0, else slope. NaN stays NaN.
struct LeakyRelu {
  double slope;
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::sign;
  static constexpr Keeps keeps = Keeps::sign;
  template <class V>
  struct Bound {
    element_of<V> slope;
    KERN_HOST_DEVICE V forward(V x, int) const { return x > V{} ? x : x * slope; }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const { return y > V{} ? dy : dy * slope; }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {element_of<V>(slope)};
  }
};

}  // namespace kern::ops
