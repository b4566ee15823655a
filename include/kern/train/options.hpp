// What optimizers say of options that are out of range.
#pragma once
#include <cmath>

#include "../core/error.hpp"

namespace kern::detail {

[[noreturn, gnu::cold]] inline void refuse_option(const char* type, const char* option, const char* expected,
                                                  double got) {
  throw ArgumentError(text(type, ": ", option, " must be ", expected, ", got ", got));
}
inline void require_finite(const char* type, const char* option, double v) {
  if (!std::isfinite(v)) refuse_option(type, option, "finite", v);
}
inline void require_not_negative(const char* type, const char* option, double v) {
  if (!(v >= 0) || !std::isfinite(v)) refuse_option(type, option, "finite and >= 0", v);
}
inline void require_positive(const char* type, const char* option, double v) {
  if (!(v > 0) || !std::isfinite(v)) refuse_option(type, option, "finite and > 0", v);
}
/// In [0, 1).
inline void require_fraction(const char* type, const char* option, double v) {
  if (!(v >= 0 && v < 1)) refuse_option(type, option, ">= 0 and < 1", v);
}
/// What is added to a root before something is divided by it: 0 would give 0 / 0 where a gradient is 0, as
/// that of padding is.
inline void require_eps(const char* type, double v) {
  if (!(v >= 1e-37) || !std::isfinite(v)) refuse_option(type, "eps", "finite and >= 1e-37", v);
}

}  // namespace kern::detail
