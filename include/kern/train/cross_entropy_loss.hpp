#pragma once
#include <cstdint>

#include "../core/known.hpp"
#include "../core/memory.hpp"
#include "../ops/cross_entropy.hpp"

namespace kern {

/// Mean over the batch of  log(sum over j of exp z[j]) - z[label]:  PyTorch's CrossEntropyLoss of scores z
/// and class numbers. After a net that ends in LogSoftmax it works on the scores before it (the result is the
/// same). Classes, if given, must be the number of the net's outputs: checked by the compiler, for an erased
/// net by the Trainer.
template <int Classes = dyn>
struct CrossEntropyLoss {
  static constexpr int classes = Classes;
  static constexpr bool skips_log_softmax = true;

  /// The loss of n samples' scores z (`stride` apart) and, where dz is not null, its gradient. each[i]:
  /// sample i's loss.
  template <class Backend, class T>
  double operator()(Backend& backend, const T* z, std::size_t stride, int n, const std::int32_t* labels,
                    ops::ClassLayout layout, T* dz, T* each) const {
    return backend.mean(n, ops::CrossEntropyRow<T>{z, stride, labels, layout, T(1) / T(n), dz, each}, each);
  }
};

}  // namespace kern
