#pragma once
#include "../ops/silu.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = x / (1 + exp(-x)), element by element; also called swish.
struct SiLU : Elementwise<ops::Silu> {
  static std::string repr() { return "SiLU()"; }
};

}  // namespace kern::nn
