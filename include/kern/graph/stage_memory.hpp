// Where the outputs of a plan's stages and their gradients lie.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../host/memory.hpp"
#include "structure.hpp"

namespace kern::graph {

/// In training: every stage's output of the whole batch is kept. Gradients of what only the same chunk will
/// read are kept a worker, the others for the batch.
template <class S, class Backend, class T>
class TrainingMemory {
  template <class U>
  using Memory = typename Backend::template Memory<U>;
  using PlanType = typename S::PlanType;

 public:
  [[gnu::cold]] TrainingMemory(const PlanType& plan, Backend& backend) : plan_(plan), backend_(backend) {
    if (plan_.fault.kind != Mismatch::none) return;
    each_stage<0, S::stages>([&]<int I>() {
      if constexpr (S::training.stage[I].gradient_in_parts()) {
        partial_at_[I] = partial_size_;
        const std::size_t size = Backend::partial_size(S::template numbers<I>(plan_));
        partial_size_ += (size + host::alignment - 1) / host::alignment * host::alignment;
        if constexpr (I < S::chunked) chunked_partial_size_ = partial_size_;
      }
    });
    while (chunk_ < 64 && partial_size_ * sizeof(T) * std::size_t(64 / chunk_) > partial_limit) chunk_ *= 2;
  }

  /// Samples that share one sum of gradients.
  int chunk() const { return chunk(capacity_); }
  /// Room for batches of up to n samples. -> whether there was not.
  [[gnu::cold]] bool reserve(int n) {
    if (n <= capacity_) return false;
    const std::size_t count = std::size_t(n);
    if (inner_dy_.size() == 0 || Backend::whole_batches)
      inner_dy_ = backend_.template allocate<T>(std::size_t(backend_.threads()) * std::size_t(chunk(n)) *
                                                plan_.inner_gradients);
    if constexpr (!S::template reads_samples<Mode::training>)
      x_ = backend_.template allocate<T>(count * std::size_t(plan_.input_size()));
    y_ = backend_.template allocate<T>(count * plan_.activations);
    argmax_ = backend_.template allocate<WindowIndex>(count * plan_.indices);
    dy_ = backend_.template allocate<T>(count * plan_.outer_gradients);
    if constexpr (S::normalises) norm_parts_ = backend_.template allocate<T>(norm_parts_size(n));
    partials_ = backend_.template allocate<T>((count + std::size_t(chunk(n)) - 1) / std::size_t(chunk(n)) *
                                              partial_size_);
    if constexpr (S::branched) {
      more_size_ = std::size_t(plan_.input_size());
      for (int i = 0; i < S::stages; ++i)
        more_size_ = std::max(more_size_, std::size_t(plan_.stage[std::size_t(i)].out_size()));
      more_dy_ = backend_.template allocate<T>(
          std::max(count, std::size_t(backend_.threads()) * std::size_t(chunk(n))) * more_size_);
    }
    dx_ = Memory<T>();
    return true;
  }
  /// After all that a batch of n needs was reserved: if memory runs out before, it is tried again.
  void reserved(int n) { capacity_ = n; }
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
    return more_dy_.data() + (s.worker < 0 ? 0 : std::size_t(s.worker) * std::size_t(chunk()) * more_size_);
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
  T* partials(int chunk) { return partials_.data() + std::size_t(chunk) * partial_size_; }
  std::size_t partial_at(int stage) const { return partial_at_[stage]; }
  std::size_t partial_size() const { return partial_size_; }
  /// Of the stages that a few samples run through: they come first.
  std::size_t chunked_partial_size() const { return chunked_partial_size_; }
  T* norm_parts() { return norm_parts_.data(); }

 private:
  static constexpr std::size_t partial_limit = std::size_t{8} << 20;  // bytes, for 64 samples
  /// Where there is room for `capacity` samples.
  int chunk(int capacity) const { return Backend::whole_batches ? std::max(capacity, 1) : chunk_; }
  /// For any batch of up to n samples.
  std::size_t norm_parts_size(int n) const {
    std::size_t most = 0;
    for (int i = 0; i < S::stages; ++i)
      if (S::is_norm(i)) most = std::max(most, 2 * std::size_t(plan_.stage[std::size_t(i)].norm.features()));
    return most * std::size_t(Backend::norm_parts(n, chunk(n)));
  }

  const PlanType& plan_;
  Backend& backend_;
  int chunk_ = 4, capacity_ = 0;
  std::size_t partial_at_[S::stages > 0 ? S::stages : 1]{}, partial_size_ = 0, chunked_partial_size_ = 0;
  std::size_t more_size_ = 0;
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
