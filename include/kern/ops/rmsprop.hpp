#pragma once
#include "root.hpp"

namespace kern::ops {

/// A step of RMSprop on a value w (a number or a register of them), PyTorch's formulas:
///   g = g + weight_decay * w
///   s = alpha * s + (1 - alpha) * g^2
///   a = a + (1 - alpha) * (g - a)                   centered: the variance s - a^2 takes the place of s
///   u = g / (sqrt(s) + eps)
///   b = momentum * b + u                            with momentum, b takes the place of u
///   w = w - lr * u
/// A variance that roundings make negative counts as 0; PyTorch's root is then NaN.
/// Source: the documentation of torch.optim.RMSprop.
template <class T>
struct RMSprop {
  T lr, alpha, rest, eps, weight_decay, momentum;  // rest: 1 - alpha
  bool centered;

  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V g, V& s, V& b, V& a) const {
    if (weight_decay != 0) g = g + w * weight_decay;
    s = s * alpha + g * g * rest;
    V square = s;
    if (centered) {
      a = a + (g - a) * rest;
      const V variance = s - a * a;
      square = variance > T(0) ? variance : V{};
    }
    g = g / (root(square) + eps);
    if (momentum > 0) g = b = b * momentum + g;
    w = w - g * lr;
  }
};

}  // namespace kern::ops
