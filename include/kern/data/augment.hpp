// Transforms that crop, flip and erase, by torchvision's names and defaults: Compose{RandomCrop<32>{.padding
// = 4}, RandomHorizontalFlip{}, ToTensor{}}. They take bytes and floats: before ToTensor, or after it.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

#include "../core/shape.hpp"
#include "transforms.hpp"

namespace kern::data {

namespace detail {

/// A 32-bit number as one of 0 to n - 1.
constexpr int below(std::uint32_t r, int n) { return int(std::uint64_t{r} * std::uint64_t(n) >> 32); }

/// Whether to do what is done with probability p.
inline bool chosen(const char* name, float p, std::uint32_t r) {
  if (!(p >= 0 && p <= 1)) throw ArgumentError(text(name, ": p must be 0 to 1, got ", p));
  return rng::uniform(r) < p;
}
template <class Sample, Size2 Size>
using Cropped = Shape<Sample::extents[0], Size.h, Size.w>;

}  // namespace detail

/// A part of Size (an int or a Size2{h, w}) from the middle. torchvision.transforms.CenterCrop, of an image
/// that is not smaller.
template <auto Size>
struct CenterCrop {
  static constexpr Size2 size = kern::detail::size2(Size);
  template <class Sample>
  using Output = detail::Cropped<Sample, size>;

  void operator()(Image& image, const TransformDraw&) const {
    const auto half = [](int n) { return int(std::nearbyint(n / 2.0)); };  // as Python: 1.5 and 2.5 give 2
    crop(image, half(image.height - size.h), half(image.width - size.w), size.h, size.w);
  }
};

/// A part of Size (an int or a Size2{h, w}), each place as likely, of the image with `padding` pixels of
/// value `fill` around it. torchvision.transforms.RandomCrop, of an image that is not smaller than Size.
template <auto Size>
struct RandomCrop {
  static constexpr Size2 size = kern::detail::size2(Size);
  template <class Sample>
  using Output = detail::Cropped<Sample, size>;
  int padding = 0;
  float fill = 0;  ///< 0 to 255 before ToTensor

  /// Throws ArgumentError for a negative padding, and an image that is smaller than Size.
  void operator()(Image& image, const TransformDraw& draw) const {
    if (padding < 0 || padding > 1 << 20)
      throw ArgumentError(text("RandomCrop: padding must be 0 to ", 1 << 20, ", got ", padding));
    if (size.h > image.height || size.w > image.width)
      throw ArgumentError(text("RandomCrop: expected an image of at least ", size.h, " x ", size.w, ", got ",
                               image.height, " x ", image.width));
    const auto r = draw.block();
    const int top = detail::below(r[0], image.height + 2 * padding - size.h + 1);
    const int left = detail::below(r[1], image.width + 2 * padding - size.w + 1);
    crop(image, top - padding, left - padding, size.h, size.w, fill);
  }
};

/// With probability p, left and right change places. torchvision.transforms.RandomHorizontalFlip.
struct RandomHorizontalFlip {
  float p = 0.5f;
  void operator()(Image& image, const TransformDraw& draw) const {
    if (detail::chosen("RandomHorizontalFlip", p, draw.block()[0])) hflip(image);
  }
};

/// With probability p, top and bottom change places. torchvision.transforms.RandomVerticalFlip.
struct RandomVerticalFlip {
  float p = 0.5f;
  void operator()(Image& image, const TransformDraw& draw) const {
    if (detail::chosen("RandomVerticalFlip", p, draw.block()[0])) vflip(image);
  }
};

/// With probability p, a rectangle becomes `value`: its area is the `scale` part of the image's, its height
/// by its width is `ratio`, both drawn from a range (the ratio's logarithm evenly). One that the image can't
/// hold is drawn again; after ten the image stays. torchvision.transforms.RandomErasing; a square cutout is
/// RandomErasing{.p = 1, .scale = {0.25, 0.25}, .ratio = {1, 1}}.
struct RandomErasing {
  float p = 0.5f;
  std::array<double, 2> scale{0.02, 0.33}, ratio{0.3, 3.3};
  float value = 0;  ///< 0 to 255 before ToTensor

  /// Throws ArgumentError for a range that is none, or no probability.
  void operator()(Image& image, const TransformDraw& draw) const {
    if (!(0 <= scale[0] && scale[0] <= scale[1] && scale[1] <= 1))
      throw ArgumentError(
          text("RandomErasing: scale must be a range within 0 to 1, got ", scale[0], " to ", scale[1]));
    if (!(0 < ratio[0] && ratio[0] <= ratio[1] && std::isfinite(ratio[1])))
      throw ArgumentError(
          text("RandomErasing: ratio must be a range above 0, got ", ratio[0], " to ", ratio[1]));
    if (!detail::chosen("RandomErasing", p, draw.block()[0])) return;
    for (std::uint32_t attempt = 1; attempt <= 10; ++attempt) {
      const auto r = draw.block(attempt);
      const double area = double(image.area()) * within(scale[0], scale[1], r[0]);
      const double aspect = std::exp(within(std::log(ratio[0]), std::log(ratio[1]), r[1]));
      const double height = std::nearbyint(std::sqrt(area * aspect)),
                   width = std::nearbyint(std::sqrt(area / aspect));
      if (height >= image.height || width >= image.width) continue;
      const int h = int(height), w = int(width);
      return erase(image, detail::below(r[2], image.height - h + 1), detail::below(r[3], image.width - w + 1),
                   h, w, value);
    }
  }

 private:
  static double within(double low, double high, std::uint32_t r) {
    return low + (high - low) * double(rng::uniform(r));
  }
};

}  // namespace kern::data
