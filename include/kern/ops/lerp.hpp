#pragma once
#include "../core/device_code.hpp"

namespace kern::ops {

/// w moves towards g by a share of the way, as torch.lerp's: w + weight * (g - w), computed from the nearer
/// end. 1: w = g, whatever w was.
template <class T>
struct Lerp {
  T weight;

  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V g) const {
    if (weight == 1)
      w = g;
    else if (weight < T(0.5))
      w = w + (g - w) * weight;
    else
      w = g - (g - w) * (1 - weight);
  }
};

/// w and v change places.
struct Exchange {
  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V, V& v) const {
    const V old = w;
    w = v;
    v = old;
  }
};

}  // namespace kern::ops
