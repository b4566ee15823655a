// What a loader gives and a trainer takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "../tensor/view.hpp"

namespace kern::data {

namespace detail {
template <class Sample>
struct BatchShape;
template <int... E>
struct BatchShape<Shape<E...>> {
  using type = Shape<dyn, E...>;
};
}  // namespace detail

/// Samples and their classes, or values of shape (N, Targets...); valid until the loader gives the next
/// batch.
template <class Sample, class LabelsView = std::span<const std::int32_t>>
struct Batch {
  using Images = TensorView<const float, typename detail::BatchShape<Sample>::type>;
  Images images;  ///< (N, channels, height, width), or (N, features)
  LabelsView labels;
  std::size_t size() const { return std::size_t(images.extent(0)); }
};

}  // namespace kern::data
