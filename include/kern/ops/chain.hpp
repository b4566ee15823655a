// Pointwise ops, applied left to right to a value still in registers.
//
// An op is a struct with three constants,
//   monotone  non-decreasing in x for any draw: a max-pool may come before it instead
//   needs     what its derivative looks at
//   keeps     what of its input can be told from its output
// and `template <class V> Bound bind(Place, Draw) const`, which fixes what is constant for a run of channels.
// Its Bound has, for V a float (on a GPU) or a register of them (on a host; core/math.hpp has functions of
// both),
//   V forward(V x, int pixel) const
//   V backward(V dy, V value, int pixel) const   dL/dx; value: what it needs
//   V before(V y, int pixel) const               where it keeps the value: x, or anything if y is 0 for any x
//
// An op with `stops` = true has dL/dx = 0 wherever its output is not positive. Behind it dL/dx need only be
// right where the chain's output is: a Bound may have, for there,
//   V backward_of_positive(V dy, int pixel) const
//
// A chain's own output is stored, and its input only where nothing is fused before it (graph/fold.hpp).
#pragma once
#include <algorithm>
#include <utility>

#include "draw.hpp"

namespace kern::ops {

/// What an op's derivative looks at: nothing, the sign of its output (positive or not), its output, or its
/// input.
enum class Needs { nothing, sign, output, input };
/// What of an op's input its output tells: nothing, the sign (positive or not), or the value.
enum class Keeps { nothing, sign, value };

/// Whether what an op before needs is still there behind one that `keeps`.
constexpr bool kept(Needs needs, Keeps keeps) {
  return needs == Needs::nothing || keeps == Keeps::value || (needs == Needs::sign && keeps == Keeps::sign);
}

template <class... Ops>
struct Chain;

template <>
struct Chain<> {
  static constexpr bool monotone = true;
  static constexpr Keeps keeps = Keeps::value;
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE V forward(V x, int) const { return x; }
    KERN_HOST_DEVICE V backward(V dy, V, int) const { return dy; }
    template <bool>
    KERN_HOST_DEVICE V back(V dy, V, int) const {
      return dy;
    }
    KERN_HOST_DEVICE V backward_from_input(V dy, V, int) const { return dy; }
    KERN_HOST_DEVICE V before(V y, int) const { return y; }
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
  static constexpr Keeps keeps = std::min(First::keeps, Chain<Rest...>::keeps);
  static constexpr bool goes_back = First::needs != Needs::input && kept(First::needs, Chain<Rest...>::keeps);

  template <class V>
  struct Bound {
    decltype(std::declval<First>().template bind<V>(Place{}, Draw{})) first;
    typename Chain<Rest...>::template Bound<V> rest;
    KERN_HOST_DEVICE V forward(V x, int pixel) const { return rest.forward(first.forward(x, pixel), pixel); }
    /// dL/dx from y, the whole chain's output.
    KERN_HOST_DEVICE V backward(V dy, V y, int pixel) const { return back<false>(dy, y, pixel); }
    /// OfPositive: anything where y is not positive.
    template <bool OfPositive>
    KERN_HOST_DEVICE V back(V dy, V y, int pixel) const {
      static_assert(goes_back,
                    "what an op needs for its derivative is not there: end the stage before it or behind it");
      constexpr bool of_positive = OfPositive || requires { First::stops; };
      const V g = rest.template back<of_positive>(dy, y, pixel);
      if constexpr (OfPositive && requires { first.backward_of_positive(g, pixel); })
        return first.backward_of_positive(g, pixel);
      else if constexpr (First::needs == Needs::output)
        return first.backward(g, rest.before(y, pixel), pixel);
      else
        return first.backward(g, y, pixel);
    }
    /// The same from x.
    KERN_HOST_DEVICE V backward_from_input(V dy, V x, int pixel) const {
      const V y = first.forward(x, pixel), g = rest.backward_from_input(dy, y, pixel);
      return first.backward(g, First::needs == Needs::input ? x : y, pixel);
    }
    KERN_HOST_DEVICE V before(V y, int pixel) const { return first.before(rest.before(y, pixel), pixel); }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place place, Draw draw) const {
    return {first.template bind<V>(place, draw), rest.template bind<V>(place, draw)};
  }
  static constexpr Chain of(First f, Rest... r) { return {f, Chain<Rest...>::of(r...)}; }
};

/// First, then the chain.
template <class First, class... Rest>
constexpr Chain<First, Rest...> put_before(const First& first, const Chain<Rest...>& chain) {
  return {first, chain};
}

}  // namespace kern::ops
