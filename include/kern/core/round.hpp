// Division and multiples of whole numbers, rounded up.
#pragma once
#include "device_code.hpp"

namespace kern::math {

/// n / d, rounded up; n >= 0, d > 0.
KERN_HOST_DEVICE constexpr int ceil_div(int n, int d) { return (n + d - 1) / d; }
/// The least multiple of m that is >= n.
KERN_HOST_DEVICE constexpr int round_up(int n, int m) { return ceil_div(n, m) * m; }

}  // namespace kern::math
