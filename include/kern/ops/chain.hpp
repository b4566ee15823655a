// Pointwise ops, applied left to right to a value still in registers.
//
// An op is a struct with three constants,
//   monotone      non-decreasing in x for any draw: a max-pool may come before it instead
//   needs_output  its derivative looks at the sign of its output
//   keeps_sign    it may stand between an op that needs its output and y
// and `template <class V> Bound bind(Place, Draw) const`, which fixes what is constant for a run of channels.
// Its Bound has, for V a float (on a GPU) or a register of them (on a host),
//   V forward(V x, int pixel) const
//   V backward(V dy, V y, int pixel) const   dL/dx; y is the whole chain's output
#pragma once
#include <utility>

#include "../core/stage.hpp"

namespace kern::ops {

template <class... Ops>
struct Chain;

template <>
struct Chain<> {
  static constexpr bool monotone = true, keeps_sign = true;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return x; }
    KERN_HOST_DEVICE V backward(V dy, V, int) const { return dy; }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
  static constexpr Chain of() { return {}; }
};

template <class First, class... Rest>
struct Chain<First, Rest...> {
  First first;
  Chain<Rest...> rest;

  static constexpr bool monotone = First::monotone && Chain<Rest...>::monotone;
  static constexpr bool keeps_sign = First::keeps_sign && Chain<Rest...>::keeps_sign;
  static_assert(
      !First::needs_output || Chain<Rest...>::keeps_sign,
      "an op that needs its output is followed by one that changes the sign: end the stage between them");

  template <class V>
  struct Bound {
    decltype(std::declval<First>().template bind<V>(Place{}, Draw{})) first;
    typename Chain<Rest...>::template Bound<V> rest;
    KERN_HOST_DEVICE V forward(V x, int pixel) const { return rest.forward(first.forward(x, pixel), pixel); }
    KERN_HOST_DEVICE V backward(V dy, V y, int pixel) const {
      return first.backward(rest.backward(dy, y, pixel), y, pixel);
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place place, Draw draw) const {
    return {first.template bind<V>(place, draw), rest.template bind<V>(place, draw)};
  }
  static constexpr Chain of(First f, Rest... r) { return {f, Chain<Rest...>::of(r...)}; }
};

}  // namespace kern::ops
