// What happens to a picture between the data set and the net. A transform is a function object
//   void operator()(Image& image, const TransformDraw& draw) const
// that changes a picture in place; Compose applies several. Random ones draw from `draw` alone, so that the
// result depends neither on threads nor on the order of loading.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "../core/error.hpp"
#include "../core/philox.hpp"

namespace kern::data {

/// A picture on its way: as the file has it, [h][w][c] bytes, until ToTensor; [c][h][w] floats after it.
struct Image {
  int channels, height, width;
  const std::uint8_t* bytes;  // null once it is floats
  float* values;
  std::size_t size() const { return std::size_t(channels) * std::size_t(height) * std::size_t(width); }
};

/// What a random transform draws from: random::draw(seed, Stream::transform, which, epoch, group, index).
struct TransformDraw {
  Seed seed;
  std::uint32_t epoch, index;
};

/// Bytes [h][w][c] in 0..255 to floats [c][h][w] in 0..1: v / 255.
struct ToTensor {
  void operator()(Image& image, const TransformDraw&) const {
    if (!image.bytes)
      throw ArgumentError("ToTensor: the image is floats already: expected it first in a Compose");
    const std::size_t area = std::size_t(image.height) * std::size_t(image.width);
    const auto channels = std::size_t(image.channels);
    if (channels == 1)
      for (std::size_t i = 0; i < area; ++i) image.values[i] = float(image.bytes[i]) / 255.0f;
    else
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < area; ++i)
          image.values[c * area + i] = float(image.bytes[i * channels + c]) / 255.0f;
    image.bytes = nullptr;
  }
};

/// (x - mean) / std, channel by channel.
class Normalize {
 public:
  /// For one channel, or the same for all.
  Normalize(float mean, float std) : Normalize(std::vector<float>{mean}, std::vector<float>{std}) {}
  /// A mean and a standard deviation for each channel. Throws ArgumentError where their numbers differ or a
  /// deviation is 0.
  Normalize(std::vector<float> mean, std::vector<float> std) : mean_(std::move(mean)), std_(std::move(std)) {
    if (mean_.size() != std_.size() || mean_.empty())
      throw ArgumentError("Normalize: expected as many deviations as means, got " +
                          std::to_string(mean_.size()) + " means and " + std::to_string(std_.size()) +
                          " deviations");
    for (float s : std_)
      if (!(s > 0))
        throw ArgumentError("Normalize: a standard deviation must be > 0, got " + std::to_string(s));
  }

  void operator()(Image& image, const TransformDraw&) const {
    if (image.bytes) throw ArgumentError("Normalize: the image is bytes: expected a ToTensor before it");
    if (mean_.size() != 1 && mean_.size() != std::size_t(image.channels))
      throw ArgumentError("Normalize: expected a mean for each of " + std::to_string(image.channels) +
                          " channels, got " + std::to_string(mean_.size()));
    const std::size_t area = std::size_t(image.height) * std::size_t(image.width);
    for (std::size_t c = 0; c < std::size_t(image.channels); ++c) {
      const float mean = mean_[mean_.size() == 1 ? 0 : c], std = std_[std_.size() == 1 ? 0 : c];
      float* const values = image.values + c * area;
      for (std::size_t i = 0; i < area; ++i) values[i] = (values[i] - mean) / std;
    }
  }

 private:
  std::vector<float> mean_, std_;
};

/// Transforms one after another: Compose{ToTensor{}, Normalize{0.1307f, 0.3081f}}.
template <class... Transforms>
class Compose {
 public:
  explicit Compose(Transforms... t) : transforms_(std::move(t)...) {}
  void operator()(Image& image, const TransformDraw& draw) const {
    std::apply([&](const auto&... t) { (t(image, draw), ...); }, transforms_);
  }

 private:
  std::tuple<Transforms...> transforms_;
};

}  // namespace kern::data
