#pragma once
#include "../ops/tanh.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = tanh x, element by element.
struct Tanh : Elementwise<ops::Tanh> {
  static std::string repr() { return "Tanh()"; }
};

}  // namespace kern::nn
