#pragma once
#include "../core/device_code.hpp"

namespace kern::ops {

/// One step of stochastic gradient descent on a value w (a number or a register of them), PyTorch's formulas:
///   g' = g + weight_decay * w
///   v  = momentum * v + (1 - dampening) * g'      (first step: v = g')
///   u  = nesterov ? g' + momentum * v : momentum != 0 ? v : g'
///   w  = w - lr * u
/// Source: the documentation of torch.optim.SGD.
template <class T>
struct Sgd {
  T lr, momentum, dampening, weight_decay;
  bool nesterov, first;

  template <class V>
  KERN_HOST_DEVICE void operator()(V& w, V g, V& v) const {
    if (weight_decay != 0) g = g + w * weight_decay;
    if (momentum != 0) {
      v = first ? g : v * momentum + g * (1 - dampening);
      g = nesterov ? g + v * momentum : v;
    }
    w = w - g * lr;
  }
};

}  // namespace kern::ops
