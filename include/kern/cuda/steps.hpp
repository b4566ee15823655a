// The part of CUDA's backend that makes steps: the stream and its memory, what a step's kernels are told, the
// loss, updates, and the recordings that a trainer's steps are played from.
#pragma once
#ifdef __CUDACC__
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "elementwise.cuh"
#include "grid.cuh"
#include "memory.hpp"
#include "recording.hpp"
#include "samples.hpp"
#include "stream.hpp"
#include "upload.hpp"

namespace kern::gpu {

class Steps {
 public:
  explicit Steps(const Cuda& where)
      : where_(where),
        taken_{{}, where},
        block_(1, where),
        loss_(1, where),
        loss_on_host_(1),
        loss_is_there_(where.device),
        recorder_(where.device),
        block_up_(where) {}

  template <class U>
  using Memory = Buffer<U>;
  template <class U>
  Memory<U> allocate(std::size_t n) {
    ++allocated_;
    return Buffer<U>(n, where_);
  }

  /// What the kernels of a step are told by way of the device's memory, for their arguments are recorded:
  /// before begin() the ops of its updates, with it the step's number.
  template <class Op>
  void set_update(int number, const Op& op) {
    static_assert(sizeof op <= sizeof(StepBlock::Update) && alignof(Op) <= 16);
    if (number >= StepBlock::most_updates)
      throw ArgumentError(text("a step on a GPU has at most ", StepBlock::most_updates,
                               " updates, got number ", number, ": too many parameter groups"));
    std::memcpy(&on_host_block_.update[number], &op, sizeof op);
  }
  void begin(const ops::Draw& draw) {
    on_host_block_.step = draw.step;
    on_host_block_.samples = taken_.at;
    block_up_.send(block_.data(), where_, &on_host_block_, sizeof on_host_block_);
  }

  /// A trainer's steps, by the size of their batches.
  class Recordings {
    friend class Steps;
    struct Size {
      int n;
      Recording forward, backward;
    };
    std::vector<Size> sizes;
    std::size_t allocated = 0;  // pointers in the recordings are good as long as nothing is allocated
  };
  /// A training step on n samples: forward(), which ends with mean() of the losses, then backward(), which
  /// ends with update(). -> the loss, as soon as it is there: the rest may still be going on. Both are
  /// graphs, made the second time that n is seen; if the loss is not finite, update() changes nothing.
  template <class F, class G>
  double step(Recordings& all, int n, F&& forward, G&& backward) {
    if (all.allocated != allocated_) all.sizes.clear(), all.allocated = allocated_;
    auto size = std::find_if(all.sizes.begin(), all.sizes.end(), [&](const auto& s) { return s.n == n; });
    const bool first = size == all.sizes.end();
    if (!first && !size->forward) {
      Recording f = record(forward), g = record(backward);
      size->forward = std::move(f), size->backward = std::move(g);
    }
    if (first)
      in_step(forward);
    else
      size->forward.play(where_);
    loss_is_there_.record(where_);
    if (first)
      in_step(backward);
    else
      size->backward.play(where_);
    done_reading();
    loss_is_there_.synchronize();
    if (first && all.allocated == allocated_) {
      if (all.sizes.size() == most_sizes) all.sizes.erase(all.sizes.begin());
      all.sizes.push_back({n, {}, {}});
    }
    return loss_on_host_[0];
  }
  /// What read the samples that were taken is on the stream: theirs goes on after it.
  void done_reading() { order(where_, std::exchange(taken_.where, where_)); }

  template <class F>
  void each(int n, const F& f) {
    launch("each_thread", each_thread<F>, grid_of(std::size_t(n)), where_, n, nullptr, f);
  }
  template <class F>
  void each_if_finite(int n, const F& f) {
    launch("each_thread", each_thread<F>, grid_of(std::size_t(n)), where_, n, loss_.data(), f);
  }
  /// row(i) for each i < n, which sets each[i]. -> their mean; within step() nothing, which returns it.
  template <class T, class F>
  double mean(int n, const F& row, const T* each) {
    launch("mean_of_rows", mean_of_rows<T, F>, mean_grid<T>(row.stride, n), where_, n,
           mean_rows<T>(row.stride, n), row, each, loss_.data());
    {
      const OnDevice on(where_);
      check(cudaMemcpyAsync(loss_on_host_.data(), loss_.data(), sizeof(double), cudaMemcpyDeviceToHost,
                            where_.stream),
            "cudaMemcpyAsync(8 bytes, device ", where_.device, " to host)");
    }
    if (in_step_) return 0;
    synchronize(where_);
    return loss_on_host_[0];
  }
  /// op(w[i], g[i], states[i]...) for each i < n, where op changes w and the states; for one that is null it
  /// gets zeros.
  template <class Op, class T, class... State>
  void apply(std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    launch("apply_each", apply_each<Op, T, State...>, grid_of(n), where_, n, op, w, g, states...);
  }
  /// The same in a step, with the op `number` that set_update() was told.
  template <class Op, class T, class... State>
  void update(int number, std::size_t n, const Op&, T* w, const T* g, State*... states) {
    const auto* const op = reinterpret_cast<const Op*>(&block_.data()->update[number]);
    launch("update_each", update_each<Op, T, State...>, grid_of(n), where_, n, op, loss_.data(), w, g,
           states...);
  }
  /// What reduce() needs for n values behind the results.
  static std::size_t reduce_size(std::size_t n) { return std::size_t(reduce_blocks(n)); }
  /// In a step: op's results for n values x, joined in an order that depends on n alone.
  template <class Op, class T>
  void reduce(std::size_t n, const Op& op, const T* x, double* results) {
    const int blocks = reduce_blocks(n);
    double* const parts = results + Op::results;
    launch("reduce_parts", reduce_parts<Op, T>, reduce_grid(blocks), where_, n, op, x, parts);
    launch("reduce_end", reduce_end<Op>, reduce_grid(1), where_, blocks, op, loss_.data(), parts, results);
  }

 protected:
  const Cuda& where() const { return where_; }
  StepDraw by_block(const ops::Draw& draw) const { return {draw.seed, draw.train, block_.data()}; }
  /// What is done next may read samples of that stream.
  void wait_for(const Cuda& samples) {
    if (samples.device != where_.device)
      throw ArgumentError(text("the samples are on device ", samples.device,
                               ": expected the model's, device ", where_.device));
    order(samples, where_);
  }
  /// The batch that taken() is of, until done_reading().
  void take(const DeviceSamples& samples) {
    wait_for(samples.where);
    taken_ = samples;
  }
  /// Where kernels find it: in a step by its block, for their arguments are recorded.
  template <class T, class E>
  BatchInput<T, E> taken(const E& e, bool training) const {
    return {e, training ? block_.data() : nullptr, training ? SamplesAt{} : taken_.at};
  }

 private:
  static constexpr std::size_t most_sizes = 8;
  /// f() is part of a step.
  template <class F>
  void in_step(F&& f) {
    struct Guard {
      bool& flag;
      ~Guard() { flag = false; }
    } guard{in_step_};
    in_step_ = true;
    f();
  }
  template <class F>
  Recording record(F&& f) {
    struct Guard {
      Cuda &where, before;
      ~Guard() { where = before; }
    } guard{where_, where_};
    where_ = recorder_.where();
    return Recording(where_, [&] { in_step(f); });
  }

  Cuda where_;
  DeviceSamples taken_;
  StepBlock on_host_block_{};
  Memory<StepBlock> block_;
  Memory<double> loss_;
  PinnedBuffer<double> loss_on_host_;
  Event loss_is_there_;
  Stream recorder_;  // recordings are made on it, for the default stream can't be recorded
  Upload block_up_;
  std::size_t allocated_ = 0;
  bool in_step_ = false;
};

}  // namespace kern::gpu
#endif
