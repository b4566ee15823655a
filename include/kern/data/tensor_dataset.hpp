// A data set of tensors.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "../tensor/view.hpp"
#include "batch.hpp"
#include "dataset.hpp"

namespace kern::data {

/// A copy of pictures (N, channels, height, width) of bytes or floats, and their classes.
/// torch.utils.data.TensorDataset. Copies share the pictures.
template <class T, class S>
class TensorDataset {
  static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>,
                "TensorDataset: expected bytes (std::uint8_t) or floats");

 public:
  using Sample = S;
  using Images = TensorView<const T, typename detail::BatchShape<Sample>::type>;

  /// `classes`: how many there are; 0: as many as the largest label asks for. Throws ArgumentError where
  /// there are not as many labels as images, or one is not a class.
  [[gnu::cold]] TensorDataset(const Images& images, std::span<const std::int32_t> labels, int classes = 0) {
    if (images.extent(0) != std::ptrdiff_t(labels.size()))
      throw ArgumentError(
          text("TensorDataset: got ", images.extent(0), " images, but ", labels.size(), " labels"));
    if (classes == 0 && !labels.empty()) classes = *std::max_element(labels.begin(), labels.end()) + 1;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] < 0 || labels[i] >= classes)
        throw ArgumentError(
            text("TensorDataset: label of record ", i, ": expected 0 to ", classes - 1, ", got ", labels[i]));
    std::vector<T> elements(images.begin(), images.end());
    if constexpr (std::is_same_v<T, std::uint8_t>)  // from [channels][height][width]
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t at = i % size_of_one, c = at / area, p = at % area;
        elements[i - at + p * channels + c] = images.data()[i];
      }
    data_ = std::make_shared<const Data>(std::move(elements),
                                         std::vector<std::int32_t>(labels.begin(), labels.end()), classes);
  }
  std::size_t size() const { return data_->labels.size(); }
  int classes() const { return data_->classes; }
  Record get(std::size_t i) const {
    const std::span<const T> one(data_->elements.data() + i * size_of_one, size_of_one);
    if constexpr (std::is_same_v<T, std::uint8_t>)
      return {one, data_->labels[i]};
    else
      return {{}, data_->labels[i], one};
  }

 private:
  static constexpr std::size_t channels = std::size_t(Sample::extents[0]),
                               area = std::size_t(Sample::extents[1]) * std::size_t(Sample::extents[2]),
                               size_of_one = channels * area;
  struct Data {
    std::vector<T> elements;
    std::vector<std::int32_t> labels;
    int classes;
    Data(std::vector<T> e, std::vector<std::int32_t> l, int c)
        : elements(std::move(e)), labels(std::move(l)), classes(c) {}
  };
  std::shared_ptr<const Data> data_;
};
template <class Images, class... More>
TensorDataset(const Images&, More...)
    -> TensorDataset<std::remove_const_t<typename Images::Element>,
                     typename kern::detail::Inner<typename Images::Extents>::type>;

}  // namespace kern::data
