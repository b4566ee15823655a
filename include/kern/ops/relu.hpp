#pragma once
#include "../core/stage.hpp"

namespace kern::ops {

/// y = max(x, 0);  dy/dx = 1 where y > 0, else 0. NaN stays NaN.
struct Relu {
  static constexpr bool monotone = true, needs_output = true, keeps_sign = true;
  template <class V>
  struct Bound {
    V forward(V x, int) const { return x < V{} ? V{} : x; }
    V backward(V dy, V y, int) const { return y > V{} ? dy : V{}; }
  };
  template <class V>
  Bound<V> bind(Place, Draw) const {
    return {};
  }
};

}  // namespace kern::ops
