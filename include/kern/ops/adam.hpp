#pragma once
#include "root.hpp"

namespace kern::ops {

/// A step of Adam, or AdamW, on a value w (a number or a register of them), PyTorch's formulas:
///   w = w * keep                                    keep: AdamW's 1 - lr * weight_decay, else 1
///   g = g + weight_decay * w                        Adam's
///   m = m + (1 - beta1) * (g - m)
///   v = beta2 * v + (1 - beta2) * g^2
///   w = w - step_size * m / (sqrt(v) / root_correction + eps)     amsgrad: with the largest v so far
/// step_size = lr / (1 - beta1^step), root_correction = sqrt(1 - beta2^step).
/// Source: the documentation of torch.optim.Adam and AdamW.
template <class T>
struct Adam {
  T step_size, root_correction, rest1, beta2, rest2, eps, weight_decay, keep;  // rest: 1 - beta
  bool amsgrad;

  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V g, V& m, V& v, V& largest) const {
    w = w * keep;
    if (weight_decay != 0) g = g + w * weight_decay;
    m = m + (g - m) * rest1;
    v = v * beta2 + g * g * rest2;
    if (amsgrad) largest = v > largest ? v : largest;
    w = w - m * step_size / (root(amsgrad ? largest : v) / root_correction + eps);
  }
};

}  // namespace kern::ops
