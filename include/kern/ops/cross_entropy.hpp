#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "output_layout.hpp"

namespace kern::ops {

/// Cross-entropy of one sample's scores z against its label:  log(sum over j of exp z[j]) - z[label].
template <class T>
KERN_HOST_DEVICE T cross_entropy(const T* z, int label, OutputLayout layout) {
  T top = z[0], sum = 0;
  for (int j = 0; j < layout.size(); ++j) top = z[layout.at(j)] > top ? z[layout.at(j)] : top;
  for (int j = 0; j < layout.size(); ++j) sum += std::exp(z[layout.at(j)] - top);
  return std::log(sum) + (top - z[layout.at(label)]);
}

/// The same, and its gradient times `scale`:  dz[j] = scale * (exp z[j] / sum - (j == label)).
template <class T>
KERN_HOST_DEVICE T cross_entropy(const T* z, int label, OutputLayout layout, T scale, T* dz) {
  T top = z[0], sum = 0;
  for (int j = 0; j < layout.size(); ++j) top = z[layout.at(j)] > top ? z[layout.at(j)] : top;
  for (int j = 0; j < layout.size(); ++j) sum += dz[layout.at(j)] = std::exp(z[layout.at(j)] - top);
  for (int j = 0; j < layout.size(); ++j) dz[layout.at(j)] *= scale / sum;
  dz[layout.at(label)] -= scale;
  return std::log(sum) + (top - z[layout.at(label)]);
}

/// The same for sample i of a batch whose scores are `stride` apart: each[i] = its loss, and, where dz is not
/// null, its gradient. of(): where that sample's scores and gradient stand elsewhere.
template <class T>
struct CrossEntropyRow {
  const T* z;
  std::size_t stride;
  const std::int32_t* labels;
  OutputLayout layout;
  T scale;
  T* dz;
  T* each;
  KERN_HOST_DEVICE void operator()(int i) const {
    const std::size_t at = std::size_t(i) * stride;
    of(i, z + at, dz ? dz + at : nullptr);
  }
  KERN_HOST_DEVICE void of(int i, const T* scores, T* gradient) const {
    each[i] = gradient ? cross_entropy(scores, labels[i], layout, scale, gradient)
                       : cross_entropy(scores, labels[i], layout);
  }
};

}  // namespace kern::ops
