#pragma once
#include "../ops/sigmoid.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = 1 / (1 + exp(-x)), element by element.
struct Sigmoid : Elementwise<ops::Sigmoid> {
  static std::string repr() { return "Sigmoid()"; }
};

}  // namespace kern::nn
