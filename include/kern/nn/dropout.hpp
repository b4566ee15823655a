#pragma once
#include <type_traits>

#include "../ops/dropout.hpp"
#include "layer.hpp"

namespace kern::nn {

/// In training y = x / (1 - P) with probability 1 - P, else 0, each element for itself; otherwise y = x.
template <double P = 0.5>
struct Dropout {
  static_assert(P >= 0 && P <= 1, "Dropout: a probability lies in [0, 1]");
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr ops::Dropout op(std::uint32_t layer) {
    return {P, layer};
  }
  static std::string repr() { return "Dropout(p=" + detail::number_text(P) + ", inplace=False)"; }
};

/// The same, a draw for each channel of each image. On a flat input each element is drawn for itself, as in
/// PyTorch.
template <double P = 0.5>
struct Dropout2d {
  static_assert(P >= 0 && P <= 1, "Dropout2d: a probability lies in [0, 1]");
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = detail::no_parameters;
  template <bool Flat>
  static constexpr auto op(std::uint32_t layer) {
    if constexpr (Flat)
      return ops::Dropout{P, layer};
    else
      return ops::DropoutChannels{P, layer};
  }
  static std::string repr() { return "Dropout2d(p=" + detail::number_text(P) + ", inplace=False)"; }
};

}  // namespace kern::nn
