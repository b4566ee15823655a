// Losses of outputs z against targets t of the same shape, one output at a time: a formula gives the loss
// and sets its slope, d loss / dz.
#pragma once
#include <cmath>
#include <cstddef>

#include "output_layout.hpp"

namespace kern::ops {

/// (z - t)^2.
template <class T>
KERN_HOST_DEVICE T squared_error(T z, T t, T& slope) {
  const T d = z - t;
  slope = 2 * d;
  return d * d;
}

/// |z - t|; the slope is 0 where they are equal.
template <class T>
KERN_HOST_DEVICE T absolute_error(T z, T t, T& slope) {
  const T d = z - t;
  slope = T(d > 0) - T(d < 0);
  return std::abs(d);
}

/// (z - t)^2 / 2 where |z - t| < delta, else delta (|z - t| - delta / 2).
template <class T>
KERN_HOST_DEVICE T huber(T z, T t, T delta, T& slope) {
  const T d = z - t, size = std::abs(d);
  slope = size < delta ? d : d > 0 ? delta : -delta;
  return size < delta ? d * d / 2 : delta * (size - delta / 2);
}

/// Binary cross-entropy of sigmoid(z), where a target t of 1 weighs p:
///   -(p t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))) = (1 - t) z + (1 + (p - 1) t) log(1 + exp(-z)).
template <class T>
KERN_HOST_DEVICE T binary_cross_entropy(T z, T t, T p, T& slope) {
  const T small = std::exp(-std::abs(z)), positive = 1 + (p - 1) * t;
  const T log_one_plus = std::log1p(small) + (z < 0 ? -z : T(0));  // log(1 + exp(-z))
  const T rest = (z < 0 ? T(1) : small) / (1 + small);             // sigmoid(-z)
  slope = (1 - t) - positive * rest;
  return (1 - t) * z + positive * log_one_plus;
}

/// The sum of sample i's losses times `share`, and, where dz is not null, its gradient times `scale`.
/// Targets stand as PyTorch has them. of(): as CrossEntropyRow's.
template <class T, class Formula>
struct ValueLossRow {
  const T* z;
  std::size_t stride;
  const T* targets;
  OutputLayout layout;
  T share, scale;
  T *dz, *each;
  Formula formula;
  KERN_HOST_DEVICE void operator()(int i) const {
    const std::size_t at = std::size_t(i) * stride;
    of(i, z + at, dz ? dz + at : nullptr);
  }
  KERN_HOST_DEVICE void of(int i, const T* outputs, T* gradient) const {
    const T* const t = targets + std::size_t(i) * std::size_t(layout.size());
    T sum = 0;
    for (int j = 0; j < layout.size(); ++j) {
      T slope;
      sum += formula(outputs[layout.at(j)], t[j], slope, j);
      if (gradient) gradient[layout.at(j)] = scale * slope;
    }
    each[i] = share * sum;
  }
};

}  // namespace kern::ops
