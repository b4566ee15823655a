#pragma once
#include "../ops/hardswish.hpp"
#include "elementwise.hpp"

namespace kern::nn {

/// y = x * min(max(x + 3, 0), 6) / 6, element by element.
struct Hardswish : Elementwise<ops::Hardswish> {
  static std::string repr() { return "Hardswish()"; }
};

}  // namespace kern::nn
