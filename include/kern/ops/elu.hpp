#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x where x > 0, else alpha * (exp(x) - 1), alpha >= 0;  dy/dx = 1 where y > 0, else y + alpha.
struct Elu {
  double alpha;
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::output;
  static constexpr Keeps keeps = Keeps::sign;
  template <class V>
  struct Bound {
    element_of<V> alpha;
    KERN_HOST_DEVICE V forward(V x, int) const {
      return x > V{} ? x : math::expm1(x > V{} ? V{} : x) * alpha;
    }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const { return y > V{} ? dy : dy * (y + alpha); }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {element_of<V>(alpha)};
  }
};

}  // namespace kern::ops
