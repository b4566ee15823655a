// Dropout. The mask is a function of (seed, layer, step, sample, pixel, channel) alone: `keep` is its one
// owner, for forward and backward, for every backend and any number of threads. Pixel and channel are those
// of the image, also behind Flatten, which moves nothing.
#pragma once
#include "../core/math.hpp"
#include "../core/philox.hpp"
#include "chain.hpp"

namespace kern::ops {

/// Whether channel `c` (of the four from c / 4 * 4) is kept is number c % 4 of this block.
KERN_HOST_DEVICE constexpr rng::Block dropout_block(Draw draw, std::uint32_t layer, int sample, int pixel,
                                                    int channel, int channels) {
  const auto group = std::uint32_t(pixel) * (std::uint32_t(channels + 3) / 4) + std::uint32_t(channel) / 4;
  return rng::draw(draw.seed, rng::Stream::dropout, layer, draw.step, group, std::uint32_t(sample));
}

/// What a probability P of being dropped means: numbers below `bar` are, the others are scaled by
/// 1 / (1 - P).
struct DropoutRate {
  std::uint32_t bar;
  double scale;
  DropoutRate() = default;
  constexpr DropoutRate(double p)
      : bar(p >= 1 ? ~std::uint32_t{0} : std::uint32_t(p * 4294967296.0)), scale(p >= 1 ? 0 : 1 / (1 - p)) {}
  KERN_HOST_DEVICE constexpr double unscale() const { return scale > 0 ? 1 / scale : 0; }
};

namespace detail {
/// rate.scale for a channel that is kept, 0 for one that is dropped, for the channels of `at`.
template <class V>
KERN_HOST_DEVICE V keep(const DropoutRate& rate, std::uint32_t layer, Place at, int pixel, Draw draw) {
  using T = element_of<V>;
  constexpr int n = int(sizeof(V) / sizeof(T));
  const std::uint32_t bar = rate.bar;
  const T scale = T(rate.scale);
  T factor[n];
  if constexpr (n == 1) {
    const auto r = dropout_block(draw, layer, at.sample, pixel, at.channel, at.channels);
    factor[0] = r[std::uint32_t(at.channel) % 4] >= bar ? scale : T(0);
  } else if constexpr (n == 2) {
    const auto r = dropout_block(draw, layer, at.sample, pixel, at.channel, at.channels);
    for (int i = 0; i < n; ++i)
      factor[i] = r[std::uint32_t(at.channel) % 4 + std::uint32_t(i)] >= bar ? scale : T(0);
  } else {
    for (int q = 0; q < n; q += 4) {
      const auto r = dropout_block(draw, layer, at.sample, pixel, at.channel + q, at.channels);
      for (int i = 0; i < 4; ++i) factor[q + i] = r[std::size_t(i)] >= bar ? scale : T(0);
    }
  }
  V v;
  __builtin_memcpy(&v, factor, sizeof v);
  return v;
}
}  // namespace detail

/// Training: y = x * m, m = 1 / (1 - p) with probability 1 - p, else 0, a draw an element. Else y = x.
struct Dropout {
  DropoutRate rate;
  std::uint32_t layer;
  static constexpr bool monotone = false;
  static constexpr Needs needs = Needs::nothing;
  static constexpr Keeps keeps = Keeps::value;
  template <class V>
  struct Bound {
    DropoutRate rate;
    std::uint32_t layer;
    Place at;
    Draw draw;
    KERN_HOST_DEVICE V forward(V x, int pixel) const {
      return draw.train ? x * detail::keep<V>(rate, layer, at, pixel, draw) : x;
    }
    KERN_HOST_DEVICE V backward(V dy, V, int pixel) const { return forward(dy, pixel); }
    /// What is positive was kept: no draw.
    KERN_HOST_DEVICE V backward_of_positive(V dy, int) const {
      return draw.train ? dy * element_of<V>(rate.scale) : dy;
    }
    KERN_HOST_DEVICE V before(V y, int) const { return draw.train ? y * element_of<V>(rate.unscale()) : y; }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place at, Draw draw) const {
    return {rate, layer, at, draw};
  }
};

/// The same with one draw for a whole channel of a sample.
struct DropoutChannels {
  DropoutRate rate;
  std::uint32_t layer;
  static constexpr bool monotone = true;
  static constexpr Needs needs = Needs::nothing;
  static constexpr Keeps keeps = Keeps::value;
  template <class V>
  struct Bound {
    V factor;
    element_of<V> scale, unscale;
    KERN_HOST_DEVICE V forward(V x, int) const { return x * factor; }
    KERN_HOST_DEVICE V backward(V dy, V, int) const { return dy * factor; }
    KERN_HOST_DEVICE V backward_of_positive(V dy, int) const { return dy * scale; }
    KERN_HOST_DEVICE V before(V y, int) const { return y * unscale; }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place at, Draw draw) const {
    using T = element_of<V>;
    if (draw.train) return {detail::keep<V>(rate, layer, at, 0, draw), T(rate.scale), T(rate.unscale())};
    return {V{} + 1, T(1), T(1)};
  }
};

}  // namespace kern::ops
