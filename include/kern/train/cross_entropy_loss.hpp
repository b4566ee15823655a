#pragma once
#include <cstdint>

#include "../core/known.hpp"
#include "../ops/cross_entropy.hpp"
#include "loss.hpp"

namespace kern {

/// PyTorch's options of its CrossEntropyLoss.
struct CrossEntropyOptions {
  std::vector<double> weight{};      ///< of each class; none: all 1
  std::int32_t ignore_index = -100;  ///< samples with this label count nothing
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;

  /// Throws ArgumentError for what PyTorch refuses.
  void check() const {
    if (!(label_smoothing >= 0 && label_smoothing <= 1))
      detail::refuse_option("CrossEntropyLoss", "label_smoothing", "0 to 1", label_smoothing);
  }
};

/// Mean over the batch of  log(sum over j of exp z[j]) - z[label]:  PyTorch's CrossEntropyLoss of scores z
/// and class numbers. After a net that ends in LogSoftmax it works on the scores before it (the result is the
/// same). Classes, if given, must be the number of the net's outputs: checked by the compiler, for an erased
/// net by the Trainer. With options (ops/class_loss.hpp has the formula):
/// CrossEntropyLoss{{.label_smoothing = 0.1}}.
template <int Classes = dyn, class Options = void>
struct CrossEntropyLoss;

template <int Classes>
struct CrossEntropyLoss<Classes, void> {
  static constexpr int classes = Classes;
  static constexpr bool skips_log_softmax = true;

  // For a Trainer; ClassLossAt (loss.hpp) says what these do.
  template <class Backend, class T>
  class At {
   public:
    At(const CrossEntropyLoss&, Backend&, int) {}
    static constexpr Reduction reduction() { return Reduction::mean; }
    static constexpr bool ignores(std::int32_t) { return false; }
    double prepare(Backend& backend, std::span<const std::int32_t> labels, int n) {
      labels_ = backend.targets(labels);
      return n;
    }
    double operator()(Backend& backend, const T* z, std::size_t stride, int n, ops::OutputLayout layout,
                      T* dz, T* each) const {
      return backend.mean(n, ops::CrossEntropyRow<T>{z, stride, labels_, layout, T(1) / T(n), dz, each},
                          each);
    }

   private:
    const std::int32_t* labels_ = nullptr;
  };
};

template <int Classes>
struct CrossEntropyLoss<Classes, CrossEntropyOptions> {
  static constexpr int classes = Classes;
  static constexpr bool skips_log_softmax = true;
  CrossEntropyOptions options;

  template <class Backend, class T>
  struct At : detail::ClassLossAt<ops::WeightedCrossEntropy<T>, Backend, T> {
    At(const CrossEntropyLoss& l, Backend& backend, int outputs)
        : detail::ClassLossAt<ops::WeightedCrossEntropy<T>, Backend, T>(
              {T(l.options.label_smoothing)}, "CrossEntropyLoss", l.options, backend, outputs) {
      l.options.check();
    }
  };
};
CrossEntropyLoss(CrossEntropyOptions) -> CrossEntropyLoss<dyn, CrossEntropyOptions>;

}  // namespace kern
