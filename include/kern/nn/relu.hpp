#pragma once
#include "../ops/relu.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = max(x, 0), element by element.
struct ReLU : Elementwise<ops::Relu> {
  static std::string repr() { return "ReLU()"; }
};

}  // namespace kern::nn
