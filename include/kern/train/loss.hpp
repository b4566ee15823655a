// What losses share, and how a Trainer uses one.
//
// A loss of values is a struct with
//   T operator()(T z, T target, T& slope, int output) const
// for float and double, which runs on any device (KERN_HOST_DEVICE); it may have `reduction`, check() of its
// options, and `least` and `most`, between which targets lie. Any other loss has At<Backend, T>, which is it
// at work for a net of so many outputs, as ClassLossAt is.
#pragma once
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/error.hpp"
#include "../core/mismatch.hpp"
#include "../nn/sequential.hpp"
#include "../ops/class_loss.hpp"
#include "../ops/value_loss.hpp"
#include "options.hpp"

namespace kern {

/// The words of compile errors about a loss of your own, never defined:
///   loss_lacks_call_of_output_target_slope_number<Pinball, float(float, float, float&, int) const>
///   loss_of_classes_lacks_At_of_backend_and_element<Focal>
template <class Loss, class Signature>
struct loss_lacks_call_of_output_target_slope_number;
template <class Loss>
struct loss_of_classes_lacks_At_of_backend_and_element;

/// How the losses of a batch become the one that is trained on. PyTorch's `none` is no such number.
enum class Reduction { mean, sum };

namespace detail {

/// A loss's weights of a net's outputs, where the backend's formulas read them; all 1 if there are none.
/// Throws ShapeError for another number of them, ArgumentError for one that is negative.
template <class T, class Backend>
[[gnu::cold]] auto weights_at(Backend& backend, const char* loss, const char* option,
                              const std::vector<double>& weights, int outputs) {
  if (!weights.empty() && weights.size() != std::size_t(outputs))
    throw ShapeError(text(loss, ": values of ", option, ": expected ", outputs, " (outputs of the net), got ",
                          weights.size()));
  for (const double w : weights) require_not_negative(loss, option, w);
  auto memory = backend.template allocate<T>(std::size_t(outputs));
  backend.edit(memory.data(), std::size_t(outputs), [&](T* w) {
    for (std::size_t i = 0; i < std::size_t(outputs); ++i) w[i] = weights.empty() ? T(1) : T(weights[i]);
  });
  return memory;
}

/// A loss of values at work on a backend.
template <class Formula, class Backend, class T>
class ValueLossAt {
 public:
  ValueLossAt(const Formula& formula, Backend&, int) : formula_(formula) {
    if constexpr (requires { formula.check(); }) formula.check();
  }
  Reduction reduction() const {
    if constexpr (requires { formula_.reduction; })
      return formula_.reduction;
    else
      return Reduction::mean;
  }
  /// Before the net runs on a batch. -> what the batch weighs in a mean over several.
  double prepare(Backend& backend, std::span<const T> targets, int n) {
    targets_ = backend.targets(targets);
    return n;
  }
  /// The loss of n samples' outputs z (`stride` apart) and, where dz is not null, its gradient. each: room
  /// for a number a sample.
  double operator()(Backend& backend, const T* z, std::size_t stride, int n, ops::OutputLayout layout, T* dz,
                    T* each) const {
    const bool mean = reduction() == Reduction::mean;
    const T share = mean ? 1 / T(layout.size()) : T(n), scale = mean ? share / T(n) : T(1);
    return backend.mean(
        n, ops::ValueLossRow<T, Formula>{z, stride, targets_, layout, share, scale, dz, each, formula_},
        each);
  }

 protected:
  Formula formula_;

 private:
  const T* targets_ = nullptr;
};

/// A loss of class numbers at work: Formula as of ops/class_loss.hpp. Samples whose label is ignore_index are
/// left out; a mean divides by the sum of the others' classes' weights.
template <class Formula, class Backend, class T>
class ClassLossAt {
 public:
  template <class Options>
  ClassLossAt(const Formula& formula, const char* loss, const Options& options, Backend& backend, int outputs)
      : formula_(formula),
        reduction_(options.reduction),
        ignore_index_(options.ignore_index),
        weights_(options.weight),
        weights_there_(weights_at<T>(backend, loss, "weight", weights_, outputs)) {}

  Reduction reduction() const { return reduction_; }
  bool ignores(std::int32_t label) const { return label == ignore_index_; }
  /// As ValueLossAt's; 0 where no sample counts.
  double prepare(Backend& backend, std::span<const std::int32_t> labels, int n) {
    double weight = 0;
    for (const std::int32_t label : labels)
      if (!ignores(label)) weight += weights_.empty() ? 1 : weights_[std::size_t(label)];
    const double share = reduction_ == Reduction::sum ? n : weight > 0 ? n / weight : 0;
    shares_.clear();
    for (const std::int32_t label : labels) shares_.push_back(ignores(label) ? T(0) : T(share));
    shares_there_ = backend.targets(std::span<const T>(shares_));
    labels_ = backend.targets(labels);
    return weight;
  }
  double operator()(Backend& backend, const T* z, std::size_t stride, int n, ops::OutputLayout layout, T* dz,
                    T* each) const {
    return backend.mean(
        n,
        ops::ClassLossRow<T, Formula>{z, stride, labels_, shares_there_, weights_there_.data(), layout,
                                      1 / T(n), dz, each, formula_},
        each);
  }

 private:
  Formula formula_;
  Reduction reduction_;
  std::int32_t ignore_index_;
  std::vector<double> weights_;
  typename Backend::template Memory<T> weights_there_;
  std::vector<T> shares_;
  const T* shares_there_ = nullptr;
  const std::int32_t* labels_ = nullptr;
};

/// Whether a loss's targets are class numbers, and the type of Loss at work.
template <class Loss>
inline constexpr bool of_classes = requires { Loss::classes; };
/// It gives a loss of values, and its slope to who calls: not to a copy.
template <class Loss, class T>
concept IsValueLoss = requires(const Loss& loss, T z, T& slope, int output) {
  { loss(z, z, slope, output) } -> std::convertible_to<T>;
} && !requires(const Loss& loss, T z, int output) { loss(z, z, T{}, output); };
template <class Loss, class Backend, class T>
concept HasAt = requires { typename Loss::template At<Backend, T>; };
/// In place of a loss that is refused: nothing more is said about it.
template <class Backend, class T>
struct RefusedLossAt {
  template <class Loss>
  RefusedLossAt(const Loss&, Backend&, int) {}
  static constexpr Reduction reduction() { return Reduction::mean; }
  static constexpr bool ignores(std::int32_t) { return false; }
  template <class Labels>
  double prepare(Backend&, const Labels&, int n) {
    return n;
  }
  double operator()(Backend&, const T*, std::size_t, int, ops::OutputLayout, T*, T*) const { return 0; }
};
template <class Loss, class T>
constexpr auto loss_complaint() {
  if constexpr (of_classes<Loss>)
    return static_cast<loss_of_classes_lacks_At_of_backend_and_element<Loss>*>(nullptr);
  else
    return static_cast<loss_lacks_call_of_output_target_slope_number<Loss, T(T, T, T&, int) const>*>(nullptr);
}
template <class Loss, class Backend, class T>
struct LossAt {
  static_assert(sizeof(*loss_complaint<Loss, T>()));
  using type = RefusedLossAt<Backend, T>;
};
template <class Loss, class Backend, class T>
  requires(!HasAt<Loss, Backend, T> && !of_classes<Loss> && IsValueLoss<Loss, T>)
struct LossAt<Loss, Backend, T> {
  using type = ValueLossAt<Loss, Backend, T>;
};
template <class Loss, class Backend, class T>
  requires HasAt<Loss, Backend, T>
struct LossAt<Loss, Backend, T> {
  using type = typename Loss::template At<Backend, T>;
};
/// Whether a loss is the same of log_softmax(z) as of z.
template <class Loss>
constexpr bool skips_log_softmax() {
  if constexpr (requires { Loss::skips_log_softmax; })
    return Loss::skips_log_softmax;
  else
    return false;
}

/// What is wrong between a net and a loss.
template <class Model, class Loss>
constexpr ShapeFault loss_fault() {
  constexpr auto& p = Model::Executor::structure;
  constexpr int last = nn::layer_count<typename Model::Net> - 1;
  if (p.fault.kind != Mismatch::none) return {};  // the model complains of that
  if constexpr (of_classes<Loss>) {
    if (!p.output().flat) return {Mismatch::loss_needs_flat_output, last, 1, 3};
    if (Loss::classes != dyn && Model::Input::is_static && p.output().size() != Loss::classes)
      return {Mismatch::loss_classes, last, p.output().size(), Loss::classes};
  }
  return {};
}

}  // namespace detail

/// How far the slope that a loss of values gives at z is from (loss(z + h) - loss(z - h)) / 2h: for tests of
/// a loss of your own. Without kinks that is some h^2 and 1e-16 / h times the loss.
template <class Loss>
double slope_error(const Loss& loss, double z, double target, int output = 0, double h = 1e-5) {
  double slope = 0, ignored = 0;
  loss(z, target, slope, output);
  return std::abs(slope -
                  (loss(z + h, target, ignored, output) - loss(z - h, target, ignored, output)) / (2 * h));
}

}  // namespace kern
