// A data set of tensors.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../tensor/view.hpp"
#include "batch.hpp"
#include "dataset.hpp"

namespace kern::data {

namespace detail {

/// The shape of one sample's values, where labels are a tensor of them; void where they are numbers of
/// classes.
template <class Labels>
struct ValuesOf {
  using type = void;
};
template <class Labels>
  requires requires { typename Labels::Extents; }
struct ValuesOf<Labels> {
  using type = typename kern::detail::Inner<typename Labels::Extents>::type;
};
template <class Values>
struct TargetsOfTensor {
  using Targets = Values;
};
template <>
struct TargetsOfTensor<void> {};

/// The classes of a TensorDataset.
template <class Targets>
class TensorLabels {
 public:
  TensorLabels(std::span<const std::int32_t> labels, int classes = 0)
      : labels_(labels.begin(), labels.end()), classes_(classes) {
    if (classes == 0 && !labels.empty())
      classes_ = std::max(0, *std::max_element(labels.begin(), labels.end())) + 1;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] < 0 || labels[i] >= classes_)
        throw ArgumentError(text("TensorDataset: label of record ", i, ": expected 0 to ", classes_ - 1,
                                 ", got ", labels[i]));
  }
  static constexpr const char* name = " labels";
  std::size_t size() const { return labels_.size(); }
  int classes() const { return classes_; }
  void put(Record& r, std::size_t i) const { r.label = labels_[i]; }

 private:
  std::vector<std::int32_t> labels_;
  int classes_;
};
/// Its values, of this shape each.
template <int... E>
class TensorLabels<Shape<E...>> {
  static_assert(sizeof...(E) > 0 && ((E > 0) && ...),
                "TensorDataset: expected targets (N, features) or (N, channels, height, width)");

 public:
  TensorLabels(const TensorView<const float, Shape<dyn, E...>>& values)
      : values_(values.begin(), values.end()) {}
  static constexpr const char* name = " targets";
  std::size_t size() const { return values_.size() / each; }
  void put(Record& r, std::size_t i) const { r.targets = std::span(values_).subspan(i * each, each); }

 private:
  static constexpr std::size_t each = (std::size_t(E) * ...);
  std::vector<float> values_;
};

}  // namespace detail

/// A copy of samples, (N, channels, height, width) or (N, features), of bytes or floats, and of their
/// classes, or of the values that a net should make of them, (N, features) or (N, channels, height, width):
/// the set's Targets then. torch.utils.data.TensorDataset. Copies share the samples.
template <class T, class S, class Values = void>
class TensorDataset : public detail::TargetsOfTensor<Values> {
  static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>,
                "TensorDataset: expected bytes (std::uint8_t) or floats");
  using Labels = detail::TensorLabels<Values>;

 public:
  using Sample = S;
  using Images = TensorView<const T, typename detail::BatchShape<Sample>::type>;

  /// Of classes, `labels` is numbers, and behind it may be how many classes there are; if not, as many as the
  /// largest label asks for. Throws ArgumentError where there are not as many labels or targets as samples,
  /// or a label is not a class.
  template <class... More>
    requires std::constructible_from<Labels, const More&...>
  [[gnu::cold]] TensorDataset(const Images& images, const More&... labels) {
    Labels l(labels...);
    if (images.extent(0) != std::ptrdiff_t(l.size()))
      throw ArgumentError(
          text("TensorDataset: got ", images.extent(0), " samples, but ", l.size(), Labels::name));
    std::vector<T> elements(images.begin(), images.end());
    if constexpr (std::is_same_v<T, std::uint8_t>)  // from [channels][height][width]
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t at = i % size_of_one, c = at / area, p = at % area;
        elements[i - at + p * channels + c] = images.data()[i];
      }
    data_ = std::make_shared<const Data>(std::move(elements), std::move(l));
  }
  /// What labels can't be doesn't compile.
  template <class... More>
    requires(!std::constructible_from<Labels, const More&...>)
  TensorDataset(const Images&, const More&...) {
    constexpr bool are_labels = std::constructible_from<Labels, const More&...>;
    static_assert(
        are_labels,
        "TensorDataset: expected labels (std::int32_t, in a std::vector or span) and how many classes "
        "there are, or a tensor of float targets");
  }
  std::size_t size() const { return data_->labels.size(); }
  int classes() const
    requires std::is_void_v<Values>
  {
    return data_->labels.classes();
  }
  Record get(std::size_t i) const {
    const std::span<const T> one(data_->elements.data() + i * size_of_one, size_of_one);
    Record r{{}, 0};
    if constexpr (std::is_same_v<T, std::uint8_t>)
      r.pixels = one;
    else
      r.values = one;
    data_->labels.put(r, i);
    return r;
  }

 private:
  static constexpr auto image = detail::image_of<Sample>;
  static constexpr std::size_t channels = std::size_t(image[0]), size_of_one = detail::elements(image),
                               area = size_of_one / channels;
  struct Data {
    std::vector<T> elements;
    Labels labels;
    Data(std::vector<T> e, Labels l) : elements(std::move(e)), labels(std::move(l)) {}
  };
  std::shared_ptr<const Data> data_;
};
template <class Images, class Labels, class... Classes>
TensorDataset(const Images&, const Labels&, Classes...)
    -> TensorDataset<std::remove_const_t<typename Images::Element>,
                     typename kern::detail::Inner<typename Images::Extents>::type,
                     typename detail::ValuesOf<Labels>::type>;

}  // namespace kern::data
