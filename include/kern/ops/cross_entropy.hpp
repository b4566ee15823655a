#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../core/device_code.hpp"

namespace kern::ops {

/// Where the classes of one sample's output stand as stored: class c * pixels + p at p * cols + c.
struct ClassLayout {
  int channels, pixels, cols;
  KERN_HOST_DEVICE constexpr int classes() const { return channels * pixels; }
  KERN_HOST_DEVICE constexpr int at(int j) const { return pixels == 1 ? j : j % pixels * cols + j / pixels; }
};

/// Cross-entropy of one sample's scores z against its label:  log(sum over j of exp z[j]) - z[label].
template <class T>
KERN_HOST_DEVICE T cross_entropy(const T* z, int label, ClassLayout layout) {
  T top = z[0], sum = 0;
  for (int j = 0; j < layout.classes(); ++j) top = z[layout.at(j)] > top ? z[layout.at(j)] : top;
  for (int j = 0; j < layout.classes(); ++j) sum += std::exp(z[layout.at(j)] - top);
  return std::log(sum) + (top - z[layout.at(label)]);
}

/// The same, and its gradient times `scale`:  dz[j] = scale * (exp z[j] / sum - (j == label)).
template <class T>
KERN_HOST_DEVICE T cross_entropy(const T* z, int label, ClassLayout layout, T scale, T* dz) {
  T top = z[0], sum = 0;
  for (int j = 0; j < layout.classes(); ++j) top = z[layout.at(j)] > top ? z[layout.at(j)] : top;
  for (int j = 0; j < layout.classes(); ++j) sum += dz[layout.at(j)] = std::exp(z[layout.at(j)] - top);
  for (int j = 0; j < layout.classes(); ++j) dz[layout.at(j)] *= scale / sum;
  dz[layout.at(label)] -= scale;
  return std::log(sum) + (top - z[layout.at(label)]);
}

/// The same for sample i of a batch whose scores are `stride` apart: each[i] = its loss, and, where dz is not
/// null, its gradient.
template <class T>
struct CrossEntropyRow {
  const T* z;
  std::size_t stride;
  const std::int32_t* labels;
  ClassLayout layout;
  T scale;
  T* dz;
  T* each;
  KERN_HOST_DEVICE void operator()(int i) const {
    const std::size_t at = std::size_t(i) * stride;
    each[i] = dz ? cross_entropy(z + at, labels[i], layout, scale, dz + at)
                 : cross_entropy(z + at, labels[i], layout);
  }
};

}  // namespace kern::ops
