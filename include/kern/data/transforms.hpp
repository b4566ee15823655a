// What happens to a picture between the data set and the net. A transform is a function object
//   void operator()(Image& image, const TransformDraw& draw) const
// that changes a picture in place, called by several threads at once; Compose applies several. Random ones
// draw from `draw` alone, so that the result depends neither on threads nor on the order of loading. One that
// makes another shape of a picture says which: `template <class Sample> using Output = Shape<...>`.
#pragma once
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../core/philox.hpp"
#include "../core/simd.hpp"
#include "image.hpp"

namespace kern::data {

/// What a random transform draws from: numbers of their own for every seed, epoch, sample and place in a
/// Compose.
struct TransformDraw {
  Seed seed{};
  std::uint32_t epoch = 0;
  std::uint32_t index = 0;  ///< of the sample in its data set
  std::uint32_t place = 0;  ///< of the transform; set by Compose

  /// Four 32-bit numbers for each `group`; rng::uniform makes one of them a float in [0, 1).
  constexpr rng::Block block(std::uint32_t group = 0) const {
    return rng::draw(seed, rng::Stream::transform, place, epoch, group, index);
  }
};

template <class T>
concept Transform = requires(const T& d, Image& i) { d(i, std::declval<const TransformDraw&>()); };

/// The words of a compile error, never defined:
///   transform_lacks_call<Negative, void(Image&, const TransformDraw&) const>
template <class T, class Signature>
struct transform_lacks_call;

/// What it makes of a byte depends on the byte and its channel alone: it says `static constexpr bool
/// pointwise = true`. Such a transform also runs where a data set lies on a GPU.
template <class T>
concept PointwiseTransform = Transform<T> && T::pointwise;

namespace detail {

template <class Sample, class... Transforms>
struct Output {
  using type = Sample;
};
template <class Sample, class First, class... Rest>
struct Output<Sample, First, Rest...> : Output<Sample, Rest...> {};
template <class Sample, class First, class... Rest>
  requires requires { typename First::template Output<Sample>; }
struct Output<Sample, First, Rest...> : Output<typename First::template Output<Sample>, Rest...> {};
/// The shape of what the transforms, one after another, make of a picture of shape Sample.
template <class Sample, class... Transforms>
using OutputOf = typename Output<Sample, Transforms...>::type;

/// A transform in place of T, which is none: says so.
template <class T>
struct NoTransform {
  static_assert(sizeof(transform_lacks_call<T, void(Image&, const TransformDraw&) const>));
  static constexpr bool pointwise = true;
  NoTransform(const T&) {}
  void operator()(Image&, const TransformDraw&) const {}
};
template <class T>
using CheckedTransform = std::conditional_t<Transform<T>, T, NoTransform<T>>;

inline constexpr auto unit_values = [] {
  std::array<float, 256> v{};
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i) / 255.0f;
  return v;
}();

}  // namespace detail

/// Bytes [height][width][channels] in 0..255 to floats [channels][height][width] in 0..1: v / 255.
/// torchvision.transforms.ToTensor, to the bit.
struct ToTensor {
  static constexpr bool pointwise = true;
  void operator()(Image& image, const TransformDraw&) const {
    if (!image.bytes)
      throw ArgumentError("ToTensor: the image is floats already: expected it first in a Compose");
    const std::size_t area = image.area(), channels = std::size_t(image.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint8_t* const from = image.bytes + c;
      float* const to = image.values + c * area;
      for (std::size_t i = 0; i < area; ++i) to[i] = detail::unit_values[from[i * channels]];
    }
    image.bytes = nullptr;
  }
};

/// (x - mean) / std, channel by channel. torchvision.transforms.Normalize, to the bit.
class Normalize {
 public:
  static constexpr bool pointwise = true;
  /// For one channel, or the same for all.
  Normalize(float mean, float std) : Normalize(std::vector<float>{mean}, std::vector<float>{std}) {}
  /// A mean and a standard deviation for each channel. Throws ArgumentError where their numbers differ, a
  /// mean is not finite or a deviation is not finite and > 0.
  Normalize(std::vector<float> mean, std::vector<float> std) : mean_(std::move(mean)), std_(std::move(std)) {
    if (mean_.size() != std_.size() || mean_.empty())
      throw ArgumentError(text("Normalize: expected as many deviations as means, at least 1, got ",
                               mean_.size(), " means and ", std_.size(), " deviations"));
    for (float m : mean_)
      if (!std::isfinite(m)) throw ArgumentError(text("Normalize: a mean must be finite, got ", m));
    for (float s : std_)
      if (!(s > 0) || !std::isfinite(s))
        throw ArgumentError(text("Normalize: a standard deviation must be finite and > 0, got ", s));
  }

  void operator()(Image& image, const TransformDraw&) const {
    if (image.bytes) throw ArgumentError("Normalize: the image is bytes: expected a ToTensor before it");
    if (mean_.size() != 1 && mean_.size() != std::size_t(image.channels))
      throw ArgumentError(
          text("Normalize: expected a mean for each of ", image.channels, " channels, got ", mean_.size()));
    const std::size_t area = image.area();
    for (std::size_t c = 0; c < std::size_t(image.channels); ++c) {
      const float mean = mean_[mean_.size() == 1 ? 0 : c], std = std_[std_.size() == 1 ? 0 : c];
      float* const values = image.values + c * area;
      const std::size_t whole = area - area % std::size_t(simd::lanes<float>);
      const auto m = simd::splat(mean), d = simd::splat(std);
      for (std::size_t i = 0; i < whole; i += std::size_t(simd::lanes<float>))
        simd::store(values + i, (simd::load(values + i) - m) / d);
      for (std::size_t i = whole; i < area; ++i) values[i] = (values[i] - mean) / std;
    }
  }

 private:
  std::vector<float> mean_, std_;
};

/// Transforms one after another: Compose{ToTensor{}, Normalize{0.1307f, 0.3081f}}.
template <Transform... Transforms>
class Compose {
 public:
  static constexpr bool pointwise = (PointwiseTransform<Transforms> && ...);
  template <class Sample>
  using Output = detail::OutputOf<Sample, Transforms...>;
  explicit Compose(Transforms... t) : transforms_(std::move(t)...) {}
  void operator()(Image& image, TransformDraw draw) const {
    draw.place *= 64;  // a Compose within a Compose has places of its own
    std::apply([&](const auto&... t) { ((++draw.place, t(image, std::as_const(draw))), ...); }, transforms_);
  }

 private:
  std::tuple<Transforms...> transforms_;
};
template <class... T>
Compose(T...) -> Compose<detail::CheckedTransform<T>...>;

}  // namespace kern::data
