// Where the outputs of a plan's stages and their gradients lie.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../host/memory.hpp"
#include "structure.hpp"

namespace kern::graph {

/// Elements that the stages of a plan work with, for a batch of up to n samples.
template <class S, class Backend>
constexpr std::size_t scratch_size(const typename S::PlanType& plan, int n) {
  std::size_t most = 0;
  each_stage<0, S::stages>(
      [&]<int I>() { most = std::max(most, Backend::scratch_size(S::template numbers<I>(plan), n)); });
  return most;
}

/// A chunk's sums of gradients, each stage's behind another: those that a few samples run through come first.
template <class S, class Backend, class T>
struct PartialSums {
  constexpr explicit PartialSums(const typename S::PlanType& plan) {
    if (plan.fault.kind != Mismatch::none) return;
    each_stage<0, S::stages>([&]<int I>() {
      if constexpr (S::training.stage[I].gradient_in_parts()) {
        at[I] = size;
        const std::size_t own = Backend::partial_size(S::template numbers<I>(plan));
        size += (own + host::alignment - 1) / host::alignment * host::alignment;
        if constexpr (I < S::chunked) chunked_size = size;
      }
    });
    while (chunk < 64 && size * sizeof(T) * std::size_t(64 / chunk) > limit) chunk *= 2;
  }

  static constexpr std::size_t limit = std::size_t{8} << 20;  // bytes, for 64 samples
  std::size_t at[S::stages > 0 ? S::stages : 1]{}, size = 0, chunked_size = 0;
  int chunk = 4;  // samples that share them, where a backend does not take whole batches
};

/// Elements that training on batches of up to n samples keeps beside the parameters.
template <class S, class Backend, class T>
struct TrainingSizes {
  constexpr TrainingSizes() = default;
  constexpr TrainingSizes(const typename S::PlanType& plan, const PartialSums<S, Backend, T>& sums, int n,
                          int threads)
      : chunk(Backend::whole_batches ? std::max(n, 1) : sums.chunk) {
    const std::size_t count = std::size_t(n), running = std::size_t(threads) * std::size_t(chunk);
    if constexpr (!S::template reads_samples<Mode::training>) x = count * std::size_t(plan.input_size());
    y = count * plan.activations;
    argmax = count * plan.indices;
    dy = count * plan.outer_gradients;
    inner_dy = running * plan.inner_gradients;
    if constexpr (S::branched) {
      more_of_sample = std::size_t(plan.input_size());
      for (int i = 0; i < S::stages; ++i)
        more_of_sample = std::max(more_of_sample, std::size_t(plan.stage[std::size_t(i)].out_size()));
      more_dy = std::max(count, running) * more_of_sample;
    }
    partials = (count + std::size_t(chunk) - 1) / std::size_t(chunk) * sums.size;
    if constexpr (S::normalises) {
      std::size_t most = 0;
      for (int i = 0; i < S::stages; ++i)
        if (S::is_norm(i)) most = std::max(most, std::size_t(plan.stage[std::size_t(i)].norm.features()));
      norm_parts = 2 * most * std::size_t(Backend::norm_parts(n, chunk));
    }
  }
  constexpr std::size_t bytes() const {
    return (x + y + dy + inner_dy + more_dy + partials + norm_parts) * sizeof(T) +
           argmax * sizeof(WindowIndex);
  }

  int chunk = 1;               // samples that share one sum of gradients
  std::size_t x = 0, y = 0;    // the input, outputs of stages
  std::size_t argmax = 0;      // of poolings
  std::size_t dy = 0;          // gradients of outputs, for the batch
  std::size_t inner_dy = 0;    // those of what only the same chunk will read, for each worker
  std::size_t more_dy = 0;     // a share of one that several give, until it is added
  std::size_t partials = 0;    // sums of parameters' gradients
  std::size_t norm_parts = 0;  // sums of batch normalisations, for any batch of up to n samples
  std::size_t more_of_sample = 0;
};

/// In training: every stage's output of the whole batch is kept.
template <class S, class Backend, class T>
class TrainingMemory {
  template <class U>
  using Memory = typename Backend::template Memory<U>;
  using PlanType = typename S::PlanType;

 public:
  [[gnu::cold]] TrainingMemory(const PlanType& plan, Backend& backend)
      : plan_(plan), backend_(backend), sums_(plan), sizes_(sizes(0)) {}

  /// Samples that share one sum of gradients.
  int chunk() const { return sizes_.chunk; }
  /// Room for batches of up to n samples. -> whether there was not.
  [[gnu::cold]] bool reserve(int n) {
    if (n <= capacity_) return false;
    const auto all = sizes(n);
    x_ = backend_.template allocate<T>(all.x);
    y_ = backend_.template allocate<T>(all.y);
    argmax_ = backend_.template allocate<WindowIndex>(all.argmax);
    dy_ = backend_.template allocate<T>(all.dy);
    inner_dy_ = backend_.template allocate<T>(all.inner_dy);
    if constexpr (S::branched) more_dy_ = backend_.template allocate<T>(all.more_dy);
    partials_ = backend_.template allocate<T>(all.partials);
    if constexpr (S::normalises) norm_parts_ = backend_.template allocate<T>(all.norm_parts);
    dx_ = Memory<T>();
    return true;
  }
  /// After all that a batch of n needs was reserved: if memory runs out before, it is tried again.
  void reserved(int n) { capacity_ = n, sizes_ = sizes(n); }
  void reserve_input_gradient() {
    if (dx_.size() == 0)
      dx_ = backend_.template allocate<T>(std::size_t(capacity_) * std::size_t(plan_.input_size()));
  }

  /// The net's input, and its gradient, from a sample on.
  T* input(int sample) { return x_.data() + std::size_t(sample) * std::size_t(plan_.input_size()); }
  T* input_gradient(int sample) { return dx_.data() + std::size_t(sample) * std::size_t(plan_.input_size()); }
  const T* input_gradient() const { return dx_.data(); }
  /// A stage's output, or the net's input, and its gradient.
  T* value(int stage, int sample) { return stage < 0 ? input(sample) : y(stage, sample); }
  T* gradient(int stage, Slice s) {
    return stage < 0 ? input_gradient(s.first) : dy(stage, s.worker, s.first);
  }
  /// Room for a slice's share of such a gradient, until it is added.
  T* more_gradient(Slice s) {
    return more_dy_.data() +
           (s.worker < 0 ? 0 : std::size_t(s.worker) * std::size_t(chunk()) * sizes_.more_of_sample);
  }
  /// Of a stage. Not inlined, as those below: once a chunk and stage is rare, and each is some code.
  [[gnu::noinline]] T* y(int stage, int sample) {
    const Stage& s = plan_.stage[std::size_t(stage)];
    return y_.data() + std::size_t(capacity_) * s.y + std::size_t(sample) * std::size_t(s.out_size());
  }
  [[gnu::noinline]] WindowIndex* argmax(int stage, int sample) {
    const Stage& s = plan_.stage[std::size_t(stage)];
    if (!s.indexed) return nullptr;
    return argmax_.data() + std::size_t(capacity_) * s.argmax +
           std::size_t(sample) * std::size_t(s.out_size());
  }
  [[gnu::noinline]] T* dy(int stage, int worker, int sample) {
    const Stage& s = plan_.stage[std::size_t(stage)];
    if (s.inner_dy)
      return inner_dy_.data() + std::size_t(worker) * std::size_t(chunk()) * plan_.inner_gradients +
             std::size_t(chunk()) * s.dy;
    return dy_.data() + std::size_t(capacity_) * s.dy + std::size_t(sample) * std::size_t(s.out_size());
  }
  /// A chunk's sums of gradients, and a stage's among them.
  T* partials(int chunk) { return partials_.data() + std::size_t(chunk) * sums_.size; }
  std::size_t partial_at(int stage) const { return sums_.at[stage]; }
  std::size_t partial_size() const { return sums_.size; }
  /// Of the stages that a few samples run through: they come first.
  std::size_t chunked_partial_size() const { return sums_.chunked_size; }
  T* norm_parts() { return norm_parts_.data(); }

 private:
  TrainingSizes<S, Backend, T> sizes(int n) const { return {plan_, sums_, n, backend_.threads()}; }

  const PlanType& plan_;
  Backend& backend_;
  int capacity_ = 0;
  PartialSums<S, Backend, T> sums_;
  TrainingSizes<S, Backend, T> sizes_;  // for batches of up to `capacity_`
  Memory<T> x_, y_, dy_, inner_dy_, more_dy_, dx_, partials_, norm_parts_;
  Memory<WindowIndex> argmax_;
};

/// In inference: what only the same slice reads is kept a worker.
template <class S, class Backend, class T>
class InferenceMemory {
  template <class U>
  using Memory = typename Backend::template Memory<U>;
  using PlanType = typename S::PlanType;

 public:
  InferenceMemory(const PlanType& plan, Backend& backend) : plan_(plan), backend_(backend) {}

  /// Samples that run through the stages together.
  int chunk() const { return chunk(capacity_); }
  [[gnu::cold]] bool reserve(int n) {
    if (n <= capacity_) return false;
    const std::size_t slots = std::size_t(std::max(inner_samples(n), S::inference.late_input ? n : 0));
    if constexpr (!S::template reads_samples<Mode::inference>)
      x_ = backend_.template allocate<T>(slots * std::size_t(plan_.input_size()));
    inner_y_ = backend_.template allocate<T>(std::size_t(inner_samples(n)) * plan_.inner);
    outer_y_ = backend_.template allocate<T>(std::size_t(n) * plan_.activations);
    return true;
  }
  void reserved(int n) { capacity_ = n; }

  /// A stage's output, or the net's input.
  T* value(int stage, int worker, int sample) {
    return stage < 0 ? input(worker, sample) : y(stage, worker, sample);
  }
  T* input(int worker, int sample) {
    const int at = S::inference.late_input ? sample : worker * chunk();
    return x_.data() + std::size_t(at) * std::size_t(plan_.input_size());
  }
  [[gnu::noinline]] T* y(int stage, int worker, int sample) {
    const Stage& s = plan_.stage[std::size_t(stage)];
    if (s.inner_y)
      return inner_y_.data() + std::size_t(inner_samples(capacity_)) * s.y +
             std::size_t(worker * chunk()) * std::size_t(s.out_size());
    return outer_y_.data() + std::size_t(capacity_) * s.y + std::size_t(sample) * std::size_t(s.out_size());
  }

 private:
  static constexpr int chunk(int capacity) { return Backend::whole_batches ? std::max(capacity, 1) : 2; }
  int inner_samples(int capacity) const { return chunk(capacity) * backend_.threads(); }

  const PlanType& plan_;
  Backend& backend_;
  int capacity_ = 0;
  Memory<T> x_, inner_y_, outer_y_;
};

}  // namespace kern::graph
