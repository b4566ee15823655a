#pragma once
#include "../core/math.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x * min(max(x + 3, 0), 6) / 6;  dy/dx = 0 up to -3, 1 from 3 on, between them x / 3 + 1 / 2.
struct Hardswish {
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::input;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    using T = element_of<V>;
    KERN_HOST_DEVICE V forward(V x, int) const {
      V gate = x + 3;
      gate = gate < V{} ? V{} : gate;
      gate = gate > V{} + 6 ? V{} + 6 : gate;
      return x * gate / 6;
    }
    KERN_HOST_DEVICE V backward(V dy, V x, int) const {
      const V middle = dy * (x / 3 + T(0.5));
      return x <= V{} - 3 ? V{} : x < V{} + 3 ? middle : dy;
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
