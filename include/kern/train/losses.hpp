// All losses but CrossEntropyLoss, with PyTorch's names and defaults; ops/value_loss.hpp has the formulas.
//
// A loss of values compares each output with its target: a batch's labels are a tensor of the output's shape.
#pragma once
#include <cstdint>
#include <vector>

#include "../core/known.hpp"
#include "loss.hpp"

namespace kern {

/// -weight[label] z[label]  of a net's log-probabilities z (it ends in LogSoftmax) and class numbers:
/// PyTorch's NLLLoss. A mean divides by the sum of the labels' weights.
template <int Classes = dyn>
struct NLLLoss {
  static constexpr int classes = Classes;
  std::vector<double> weight{};      ///< of each class; none: all 1
  std::int32_t ignore_index = -100;  ///< samples with this label count nothing
  Reduction reduction = Reduction::mean;

  template <class Backend, class T>
  struct At : detail::ClassLossAt<ops::NegativeLogLikelihood<T>, Backend, T> {
    At(const NLLLoss& l, Backend& backend, int outputs)
        : detail::ClassLossAt<ops::NegativeLogLikelihood<T>, Backend, T>({}, "NLLLoss", l, backend, outputs) {
    }
  };
};

/// (z - t)^2.
struct MSELoss {
  Reduction reduction = Reduction::mean;

  template <class T>
  KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int) const {
    return ops::squared_error(z, t, slope);
  }
};

/// |z - t|.
struct L1Loss {
  Reduction reduction = Reduction::mean;

  template <class T>
  KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int) const {
    return ops::absolute_error(z, t, slope);
  }
};

/// (z - t)^2 / 2 where |z - t| < delta, else delta (|z - t| - delta / 2).
struct HuberLoss {
  Reduction reduction = Reduction::mean;
  double delta = 1;

  /// Throws ArgumentError for a delta that is not above 0.
  void check() const { detail::require_positive("HuberLoss", "delta", delta); }
  template <class T>
  KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int) const {
    return ops::huber(z, t, T(delta), slope);
  }
};

/// (z - t)^2 / (2 beta) where |z - t| < beta, else |z - t| - beta / 2: HuberLoss with delta = beta, divided
/// by it. PyTorch also takes a beta of 0: that is L1Loss.
struct SmoothL1Loss {
  Reduction reduction = Reduction::mean;
  double beta = 1;

  /// Throws ArgumentError for a beta that is not above 0.
  void check() const { detail::require_positive("SmoothL1Loss", "beta", beta); }
  template <class T>
  KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int) const {
    const T loss = ops::huber(z, t, T(beta), slope);
    slope /= T(beta);
    return loss / T(beta);
  }
};

/// -weight (pos_weight t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))):  PyTorch's BCEWithLogitsLoss of
/// scores z and targets t from 0 to 1 (any other throws DataError; PyTorch takes it). weight and pos_weight
/// are one for each output, in PyTorch's order; none: all 1.
struct BCEWithLogitsLoss {
  static constexpr double least = 0, most = 1;  // targets
  std::vector<double> weight{};
  Reduction reduction = Reduction::mean;
  std::vector<double> pos_weight{};

  template <class T>
  struct Formula {
    Reduction reduction = Reduction::mean;
    const T *weight = nullptr, *pos_weight = nullptr;
    KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int output) const {
      const T loss = ops::binary_cross_entropy(z, t, pos_weight[output], slope);
      slope *= weight[output];
      return weight[output] * loss;
    }
  };
  template <class Backend, class T>
  class At : public detail::ValueLossAt<Formula<T>, Backend, T> {
   public:
    At(const BCEWithLogitsLoss& l, Backend& b, int outputs)
        : detail::ValueLossAt<Formula<T>, Backend, T>({}, b, outputs),
          weight_(detail::weights_at<T>(b, "BCEWithLogitsLoss", "weight", l.weight, outputs)),
          pos_weight_(detail::weights_at<T>(b, "BCEWithLogitsLoss", "pos_weight", l.pos_weight, outputs)) {
      this->formula_ = {l.reduction, weight_.data(), pos_weight_.data()};
    }

   private:
    typename Backend::template Memory<T> weight_, pos_weight_;
  };
};

}  // namespace kern
