#pragma once
#include <type_traits>

#include "../ops/gelu.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// How GELU's distribution function is computed: exactly, or by PyTorch's approximation with tanh.
enum class Approximate { none, tanh };

/// y = x * P(x), P the distribution function of the normal distribution, element by element.
template <Approximate How = Approximate::none>
struct GELU : Elementwise<std::conditional_t<How == Approximate::none, ops::Gelu, ops::GeluTanh>> {
  static std::string repr() {
    return How == Approximate::none ? "GELU(approximate='none')" : "GELU(approximate='tanh')";
  }
};

}  // namespace kern::nn
