// Losses of class numbers where classes have weights and samples may be left out.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "output_layout.hpp"

namespace kern::ops {

/// With the classes' weights w and label smoothing s over C classes:
///   a (log sum - z[label]) + s / C (sum over j of w[j] (log sum - z[j])),  a = (1 - s) w[label],
///   log sum = log(sum over j of exp z[j]):
/// PyTorch's cross_entropy of one sample. Its gradient is
///   dz[j] = softmax(z)[j] (a + s / C (sum over k of w[k])) - a (j == label) - s / C w[j].
template <class T>
struct WeightedCrossEntropy {
  T smoothing;

  KERN_HOST_DEVICE T operator()(const T* z, int label, OutputLayout layout, const T* weight, T scale,
                                T* dz) const {
    const T own = (1 - smoothing) * weight[label], even = smoothing / T(layout.size());
    T top = z[0], sum = 0;
    for (int j = 0; j < layout.size(); ++j) top = z[layout.at(j)] > top ? z[layout.at(j)] : top;
    for (int j = 0; j < layout.size(); ++j) sum += std::exp(z[layout.at(j)] - top);
    const T log_sum = std::log(sum);
    T loss = own * (log_sum + (top - z[layout.at(label)])), all = own;
    if (even > 0)
      for (int j = 0; j < layout.size(); ++j) {
        loss += even * weight[j] * (log_sum + (top - z[layout.at(j)]));
        all += even * weight[j];
      }
    if (dz) {
      for (int j = 0; j < layout.size(); ++j)
        dz[layout.at(j)] = scale * (std::exp(z[layout.at(j)] - top) / sum * all - even * weight[j]);
      dz[layout.at(label)] -= scale * own;
    }
    return loss;
  }
};

/// -w[label] z[label]:  PyTorch's nll_loss of one sample's log-probabilities z.
template <class T>
struct NegativeLogLikelihood {
  KERN_HOST_DEVICE T operator()(const T* z, int label, OutputLayout layout, const T* weight, T scale,
                                T* dz) const {
    if (dz) {
      for (int j = 0; j < layout.size(); ++j) dz[layout.at(j)] = 0;
      dz[layout.at(label)] = -scale * weight[label];
    }
    return -weight[label] * z[layout.at(label)];
  }
};

/// A formula's loss of sample i of a batch times its share, and, where dz is not null, its gradient times
/// scale. A sample whose share is 0 is left out: its label may be none. of(): as CrossEntropyRow's.
template <class T, class Formula>
struct ClassLossRow {
  const T* z;
  std::size_t stride;
  const std::int32_t* labels;
  const T *shares, *weight;
  OutputLayout layout;
  T scale;
  T *dz, *each;
  Formula formula;
  KERN_HOST_DEVICE void operator()(int i) const {
    const std::size_t at = std::size_t(i) * stride;
    of(i, z + at, dz ? dz + at : nullptr);
  }
  KERN_HOST_DEVICE void of(int i, const T* scores, T* gradient) const {
    if (shares[i] != 0) {
      each[i] = shares[i] * formula(scores, labels[i], layout, weight, scale * shares[i], gradient);
      return;
    }
    each[i] = 0;
    if (gradient)
      for (int j = 0; j < layout.size(); ++j) gradient[layout.at(j)] = 0;
  }
};

}  // namespace kern::ops
