#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "../core/stage.hpp"
#include "chain.hpp"

namespace kern::ops {

/// y = x + another stage's output at the same place. In inference: nothing goes back.
template <class T>
struct AddOutput {
  const T* other;  // of sample number `first`
  stage::StoredImage image;
  int first;
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::nothing;
  static constexpr Keeps keeps = Keeps::nothing;
  template <class V>
  struct Bound {
    const T* other;  // at its channel of the sample
    stage::StoredImage image;
    KERN_HOST_DEVICE V forward(V x, int pixel) const {
      const T* const at = other + image.at(0, pixel);
      if constexpr (std::is_same_v<V, T>) {
        return x + *at;
      } else {
        V v;
        std::memcpy(&v, at, sizeof v);
        return x + v;
      }
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place p, Draw) const {
    return {other + std::ptrdiff_t(p.sample - first) * image.size() + p.channel, image};
  }
};

}  // namespace kern::ops
