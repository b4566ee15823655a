// A net's parameters and their gradients, what norms keep beside them, and all that in the forms which the
// backend's stages read.
#pragma once
#include <cstddef>

#include "../host/memory.hpp"
#include "../ops/batch_norm.hpp"
#include "structure.hpp"

namespace kern::graph {

template <class S, class Backend, class T>
class ParameterMemory {
  template <class U>
  using Memory = typename Backend::template Memory<U>;
  using PlanType = typename S::PlanType;

 public:
  [[gnu::cold]] ParameterMemory(const PlanType& plan, const PlanType& inference, Backend& backend)
      : plan_(plan), inference_(inference), backend_(backend) {
    if (plan_.fault.kind != Mismatch::none) return;
    parameters_ = backend_.template allocate<T>(plan_.stored);
    if constexpr (S::normalises) {
      buffers_ = backend_.template allocate<T>(plan_.buffers);
      norm_state_ = backend_.template allocate<T>(ops::NormState<T>::size(int(plan_.buffers / 2)));
    }
    std::size_t forward = 0;
    each_stage<0, S::stages>([&]<int I>() {
      if constexpr (S::training.stage[I].has_product()) {
        const auto d = S::template numbers<I>(plan_);
        forward_at_[I] = forward;
        forward += Backend::forward_size(d);
        backward_at_[I] = backward_size_;
        backward_size_ += Backend::backward_size(d);
      }
    });
    forward_weights_ = backend_.template allocate<T>(forward);
    std::size_t own = 0;
    each_stage<0, S::inference.stages>([&]<int I>() {
      if constexpr (S::has_own_weights(I)) {
        const auto d = S::template numbers<I, Mode::inference>(inference_);
        own_at_[I] = own;
        own += aligned(std::size_t(d.weight_size() + d.cols)) + aligned(Backend::forward_size(d));
      }
    });
    if (own > 0) own_ = backend_.template allocate<T>(own);
  }

  /// All parameters as stored; whoever changes them calls changed().
  Memory<T>& parameters() { return parameters_; }
  const Memory<T>& parameters() const { return parameters_; }
  /// What norms keep beside the parameters, and whoever changes that calls changed().
  Memory<T>& buffers() { return buffers_; }
  const Memory<T>& buffers() const { return buffers_; }
  /// Laid out as the parameters; none before reserve_training().
  Memory<T>& gradients() { return gradients_; }
  const Memory<T>& gradients() const { return gradients_; }
  void changed() { prepared_forward_ = prepared_backward_ = prepared_inference_ = false; }
  /// A training pass will change the running statistics.
  void statistics_change() { prepared_inference_ = false; }

  [[gnu::cold]] void reserve_training() {
    if (gradients_.size() > 0) return;
    backward_weights_ = backend_.template allocate<T>(backward_size_);
    gradients_ = backend_.template allocate<T>(plan_.stored);
  }

  // In training.
  template <int I>
  Weights<T> weights() {
    if constexpr (S::training.stage[I].kind == Kind::norm)
      return {norm_state<I>().scale, norm_state<I>().shift, nullptr, nullptr};
    else if constexpr (S::training.stage[I].has_product())
      return {weight<I>(), S::training.stage[I].has_bias ? parameters_.data() + plan_.stage[I].bias : nullptr,
              forward_weights_.size() ? forward_weights_.data() + forward_at_[I] : nullptr,
              backward_weights_.size() ? backward_weights_.data() + backward_at_[I]
                                       : nullptr};  // in training only
    else if constexpr (S::training.stage[I].has_parameters())
      return {weight<I>(), S::training.stage[I].has_bias ? parameters_.data() + plan_.stage[I].bias : nullptr,
              nullptr, nullptr};
    else
      return {};
  }
  template <int I>
  T* gradient() {
    return gradients_.data() + plan_.stage[I].weight;
  }
  template <int I>
  T* bias_gradient() {
    return S::training.stage[I].has_bias ? gradients_.data() + plan_.stage[I].bias : nullptr;
  }
  void prepare_forward() {
    if (prepared_forward_) return;
    each_stage<0, S::stages>([&]<int I>() {
      if constexpr (S::training.stage[I].has_product())
        backend_.prepare_forward(S::template descriptor<I>(plan_), weight<I>(),
                                 forward_weights_.data() + forward_at_[I]);
    });
    prepared_forward_ = true;
  }
  void prepare_backward() {
    if (prepared_backward_) return;
    each_stage<0, S::stages>([&]<int I>() {
      if constexpr (S::training.stage[I].has_product())
        backend_.prepare_backward(S::template descriptor<I>(plan_), weight<I>(),
                                  backward_weights_.data() + backward_at_[I]);
    });
    prepared_backward_ = true;
  }

  // Norms.
  template <int I>
  ops::NormState<T> norm_state() {
    return norm_state(plan_.stage[I], S::template numbers<I>(plan_).features());
  }
  /// From a norm's parameters, if it has any.
  ops::NormScale<T> norm_scale(const Stage& s, std::size_t weight, int features) {
    const T* const w = s.affine ? parameters_.data() + weight : nullptr;
    return {w, w ? w + features : nullptr, s.rates.eps};
  }

  // In inference.
  template <int I>
  Weights<T> inference_weights() {
    constexpr Stage known = S::inference.stage[I];
    if constexpr (S::has_own_weights(I)) {
      const auto d = S::template numbers<I, Mode::inference>(inference_);
      const T* const own = own_.data() + own_at_[I];
      const T* const prepared = own + aligned(std::size_t(d.weight_size() + d.cols));
      if constexpr (known.folded >= 0)
        return {own, own + d.weight_size(), prepared, nullptr};
      else
        return {weight<S::trained_as(I)>(), weights<S::trained_as(I)>().bias, prepared, nullptr};
    } else if constexpr (known.has_parameters() || known.kind == Kind::norm) {
      return weights<S::trained_as(I)>();
    } else {
      return {};
    }
  }
  void prepare_inference() {
    prepare_forward();
    if (prepared_inference_) return;
    each_stage<0, S::inference.stages>([&]<int I>() {
      constexpr Stage known = S::inference.stage[I];
      if constexpr (known.folded >= 0 || known.kind == Kind::norm) {
        const Stage& s = inference_.stage[I];
        const auto d = S::template numbers<I, Mode::inference>(inference_);
        const int features = int(s.kind == Kind::norm ? s.norm.features() : s.cols());
        const auto state = norm_state(s, features);
        const T* const running = buffers_.data() + s.buffers;
        backend_.each(features,
                      ops::RestoreNorm<T>{
                          running, running + features,
                          norm_scale(s, s.kind == Kind::norm ? s.weight : s.norm_weight, features), state});
        if constexpr (known.folded >= 0) {
          T* const folded = own_.data() + own_at_[I];
          backend_.each(d.weight_size() + d.cols,
                        ops::FoldNorm<T>{parameters_.data() + s.weight,
                                         s.has_bias ? parameters_.data() + s.bias : nullptr, state,
                                         d.weight_size(), d.cols, folded, folded + d.weight_size()});
        }
      }
      if constexpr (S::has_own_weights(I))
        backend_.prepare_forward(S::template descriptor<I, Mode::inference>(inference_),
                                 inference_weights<I>().weight,
                                 const_cast<T*>(inference_weights<I>().forward));
    });
    prepared_inference_ = true;
  }

 private:
  static constexpr std::size_t aligned(std::size_t n) {
    return (n + host::alignment - 1) / host::alignment * host::alignment;
  }
  template <int I>
  const T* weight() const {
    return parameters_.data() + plan_.stage[I].weight;
  }
  /// Of a norm with these buffers.
  ops::NormState<T> norm_state(const Stage& s, int features) {
    return {norm_state_.data() + ops::NormState<T>::size(int(s.buffers / 2)), features};
  }

  const PlanType &plan_, &inference_;
  Backend& backend_;
  static constexpr int at_least_one = S::stages > 0 ? S::stages : 1;  // a net that does not fit has none
  std::size_t forward_at_[at_least_one]{}, backward_at_[at_least_one]{}, own_at_[at_least_one]{};
  std::size_t backward_size_ = 0;
  bool prepared_forward_ = false, prepared_backward_ = false, prepared_inference_ = false;
  Memory<T> parameters_, gradients_, forward_weights_, backward_weights_;
  Memory<T> buffers_, norm_state_, own_;
};

}  // namespace kern::graph
