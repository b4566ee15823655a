// An activation of one's own: a formula and its derivative, once, for a number and for a register of them; on
// the CPU and on a GPU. own_activation.cpp uses and checks it.
#pragma once
#include <kern/kern.hpp>
#include <string>

using namespace kern;

// region op
/// y = x / (1 + |x|);  dy/dx = (1 - |y|)^2.
struct SoftsignOp {
  static constexpr bool monotone = true;                   // a max-pool may come before it
  static constexpr ops::Needs needs = ops::Needs::output;  // what its derivative looks at
  static constexpr ops::Keeps keeps = ops::Keeps::sign;    // what of x can be told from y
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE static V magnitude(V x) { return x < V{} ? -x : x; }
    KERN_HOST_DEVICE V forward(V x, int) const { return x / (1 + magnitude(x)); }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const {
      const V left = 1 - magnitude(y);
      return dy * left * left;
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(ops::Place, ops::Draw) const {
    return {};
  }
};

struct Softsign : nn::Elementwise<SoftsignOp> {
  static std::string repr() { return "Softsign()"; }
};
// endregion
