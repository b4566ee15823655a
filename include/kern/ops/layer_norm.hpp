// Layer normalisation: y = (x - mean) * inverse * weight + bias, inverse = 1 / sqrt(variance + eps), mean and
// variance (the biased one) those of a row of one sample.
#pragma once
#include <cmath>

#include "../core/device_code.hpp"

namespace kern::ops {

/// A row's mean and 1 / sqrt(variance + eps).
template <class T>
struct RowStatistics {
  T mean, inverse;
  RowStatistics() = default;
  /// From the sum of (x - mean)^2 over `count` elements.
  KERN_HOST_DEVICE RowStatistics(T row_mean, T squares, int count, double eps)
      : mean(row_mean), inverse(T(1 / std::sqrt(double(squares) / count + eps))) {}

  // V: a T or a register of them.
  template <class V>
  KERN_HOST_DEVICE V normalised(V x) const {
    return (x - mean) * inverse;
  }
  /// dx, from g = dL/dy * weight, x normalised, and the row's means of g and of g * x normalised.
  template <class V>
  KERN_HOST_DEVICE V backward(V g, V normalised_x, T mean_g, T mean_product) const {
    return inverse * (g - mean_g - normalised_x * mean_product);
  }
};

}  // namespace kern::ops
