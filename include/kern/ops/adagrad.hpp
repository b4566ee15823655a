#pragma once
#include "root.hpp"

namespace kern::ops {

/// A step of Adagrad on a value w (a number or a register of them), PyTorch's formulas:
///   g = g + weight_decay * w
///   s = s + g^2                                     first step: s = initial + g^2
///   w = w - rate * g / (sqrt(s) + eps)              rate = lr / (1 + (step - 1) * lr_decay)
/// Source: the documentation of torch.optim.Adagrad.
template <class T>
struct Adagrad {
  T rate, eps, weight_decay, initial;  // initial: 0 but for the first step

  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V g, V& s) const {
    if (weight_decay != 0) g = g + w * weight_decay;
    s = s + initial + g * g;
    w = w - g * rate / (root(s) + eps);
  }
};

}  // namespace kern::ops
