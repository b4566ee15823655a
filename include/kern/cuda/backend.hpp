// CUDA's backend: runs stages on one stream of one GPU, each over the whole batch. The contract is the host's
// (docs/architecture.md). Every sum is added in an order that depends on sizes alone: the same bits from run
// to run.
#pragma once
#ifdef __CUDACC__
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "convolve_back.cuh"
#include "copy.hpp"
#include "costs.cuh"
#include "dense.cuh"
#include "grid.cuh"
#include "join.cuh"
#include "norm.cuh"
#include "pointwise.cuh"
#include "samples.hpp"
#include "softmax.cuh"
#include "steps.hpp"
#include "tensor.hpp"
#include "upload.hpp"
#include "window.cuh"

namespace kern::gpu {

template <class T>
class Backend : public Steps {
 public:
  explicit Backend(const Cuda& where)
      : Steps(where),
        done_(most_counted_tiles, where),
        samples_up_(where),
        labels_up_(where),
        values_up_(where) {}

  static constexpr int threads() { return 1; }
  /// Four elements are loaded at once.
  static constexpr int channel_multiple = vec_size;
  /// A thread keeps a window's sums in registers.
  static constexpr bool fuses_pool(int h, int w) { return h * w <= 9; }
  static constexpr bool whole_batches = true;
  /// dx comes out of a stage's backward() taken back through the pointwise ops of the stage below.
  static constexpr bool takes_back_below = true;
  /// What it launches and what that must do, for explain.
  using Costs = gpu::Costs<T>;

  template <class D>
  static constexpr std::size_t scratch_size(const D&, int) {
    return 0;
  }
  static constexpr std::size_t scratch_size(const Dense& d, int n) { return sums_of_parts(d, n); }
  static constexpr std::size_t scratch_size(const RowNorm& s, int n) {
    return 2 * std::size_t(n) * std::size_t(s.rows);
  }
  void reserve(std::size_t elements) {
    if (elements > scratch_.size()) scratch_ = allocate<T>(elements);
  }
  template <class D>
  static constexpr std::size_t forward_size(const D&) {
    return 0;
  }
  template <class D>
  static constexpr std::size_t backward_size(const D&) {
    return 0;
  }
  template <class D>
  static constexpr std::size_t partial_size(const D& d) {
    return std::size_t(gradient_parts(d)) * std::size_t(d.weight_size() + d.bias_size());
  }
  template <class D>
  void prepare_forward(D, const T*, T*) {}
  template <class D>
  void prepare_backward(D, const T*, T*) {}

  template <class U>
  const U* to_host(const U* p, std::size_t n) const {
    return fetch(p, n);
  }
  template <class F>
  void edit(T* p, std::size_t n, F&& f) {
    T* const copy = fetch(p, n);
    f(copy);
    copy_to_device(p, where(), copy, n * sizeof(T));
  }
  const std::int32_t* targets(std::span<const std::int32_t> t) { return sent(t, labels_, labels_up_); }
  const T* targets(std::span<const T> t) { return sent(t, values_, values_up_); }

  /// A convolution reads a batch itself, wherever it lies, for the others it is stored.
  template <class Stage>
  static constexpr bool reads_samples = std::is_same_v<Stage, Contraction>;
  void load(const Entry& e, const T* samples, T* x, int n) {
    if (stored_as_it_is(e))
      return samples_up_.send(x, where(), samples, std::size_t(n) * std::size_t(e.size()) * sizeof(T));
    load(e, brought(e, samples, n), x, n);
  }
  void load(const Entry& e, const DeviceSamples& samples, T* x, int n) {
    if (stored_as_it_is(e) && !samples.at.order && !samples.at.table)
      return copy_on_device(x, where(), samples.at.elements, samples.where,
                            std::size_t(n) * std::size_t(e.size()) * sizeof(T));
    wait_for(samples.where);
    launch("store_input", store_input<T, AnyEntry>, entry_grid(e, n), where(),
           BatchInput<T, AnyEntry>{AnyEntry(e), nullptr, samples.at}, n, x);
    order(where(), samples.where);
  }
  /// Before begin(): the batch that input() is of. The stream of its samples goes on after what reads them:
  /// in a training step after step(), in inference after done_reading().
  void take(const Entry& e, const T* samples, int n) { take(e, brought(e, samples, n), n); }
  void take(const Entry&, const DeviceSamples& samples, int) { Steps::take(samples); }
  /// For a first stage that reads samples, its x; e: the Known Entry.
  template <class E>
  BatchInput<T, E> input(const E& e, bool training) const {
    return taken<T>(e, training);
  }

  /// What load() and take() take of a view.
  template <class S>
  static DeviceSamples samples_of(const TensorView<const T, S, Cuda>& v) {
    return {{v.data().get(), nullptr, nullptr}, v.device()};
  }
  template <class S>
  static DeviceSamples samples_of(const PickedSamples<T, S>& v) {
    return v.samples();
  }
  template <class S>
  static const T* samples_of(const TensorView<const T, S, Host>& v) {
    return v.data();
  }

  void begin(const ops::Draw& draw) {
    gatherings_ = {};  // of a step that failed
    Steps::begin(draw);
  }

  template <class F>
  void chunks(int n, int, F&& f) {
    f(Slice{0, n, 0}, 0);
  }
  template <class D, class X, class Chain>
  void forward(Slice s, D d, const ForwardPass<T, X>& p, const Chain& chain, ops::Draw at) {
    const StepDraw draw = by_block(at);
    using Stage = typename D::type;
    const Stage c = d.get();
    const int n = s.count();
    if constexpr (std::is_same_v<Stage, Contraction>) {
      constexpr int h = D::value.pool_h, w = D::value.pool_w;  // known for an erased net, too
      const SlidingTile t = found_tile<forward_tile<T>>(d);
      with_channels<D, forward_channels>(forward_channels(c), [&]<int Channels>() {
        launch("convolve", convolve<T, h, w, Channels, D, X, Chain>, forward_grid<T>(c, t, n), where(), d, t,
               s.first, p, chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, GroupedContraction>) {
      launch("grouped_forward", grouped_forward<T, D, Chain>, forward_grid(c, n), where(), d, s.first, n, p,
             chain, draw);
    } else if constexpr (std::is_same_v<Stage, Lookup>) {
      launch("lookup_forward", lookup_forward<T, Chain>, forward_grid(c, n), where(), c, s.first, n, p, chain,
             draw);
    } else if constexpr (std::is_same_v<Stage, Window>) {
      launch("window_forward", window_forward<T, D, Chain>, forward_grid(c, n), where(), d, s.first, n, p.x,
             p.y, p.argmax, chain, draw);
    } else if constexpr (std::is_same_v<Stage, Pointwise>) {
      launch("pointwise_forward", pointwise_forward<T, D, Chain>, pointwise_grid(c, n), where(), d, s.first,
             n, p.x, p.y, chain, draw);
    } else if constexpr (std::is_same_v<Stage, Join>) {
      launch("join_forward", join_forward<T, D, Chain>, pointwise_grid(c, n), where(), d, s.first, n, p.x,
             p.other, p.y, chain, draw);
    } else if constexpr (std::is_same_v<Stage, Norm>) {
      const ops::ScaleShift<T, D::value.each_pixel != 0> scaled{p.w.weight, p.w.bias, c.feature_step()};
      const auto all = ops::put_before(scaled, chain);
      launch("norm_forward", pointwise_forward<T, D, std::remove_const_t<decltype(all)>>,
             pointwise_grid(c, n), where(), d, s.first, n, p.x, p.y, all, draw);
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      launch("dense_forward", dense_forward<T, Chain>, forward_grid<T>(c, n), where(), c, s.first, n, p,
             scratch_.data(), done_.data(), chain, draw);
    } else if constexpr (std::is_same_v<Stage, RowNorm>) {
      launch("row_norm_forward", row_norm_forward<T, Chain>, row_norm_grid(c, n), where(), c, s.first, p,
             chain, draw);
    } else {
      launch("softmax_forward", softmax_forward<T>, rows_grid(n), where(), c, n, p.x, p.y);
    }
  }

  /// dL/dy -> dL/d(what the stage's pointwise ops got), in place: for the last stage. The others' came so.
  template <class D, class Chain>
  void undo(Slice s, D d, const T* y, T* dy, const Chain& chain, ops::Draw at) {
    const StepDraw draw = by_block(at);
    const auto c = d.get();
    const int size = c.out_size(), n = s.count();
    launch("undo_chain", undo_chain<T, Below<D, Chain>>, undo_grid(size, n), where(),
           Below<D, Chain>{d, chain}, s.first, n, size, y, dy, draw);
  }
  template <class D>
  void undo(Slice, D, const T*, T*, const ops::Chain<>&, ops::Draw) {}

  template <bool DataGradient, class D, class X, class Chain, class Under>
  void backward(Slice s, D d, const BackwardPass<T, X>& p, [[maybe_unused]] const Chain& chain,
                const Under& below, ops::Draw at) {
    const StepDraw draw = by_block(at);
    using Stage = typename D::type;
    const Stage c = d.get();
    const int n = s.count();
    if constexpr (std::is_same_v<Stage, Contraction>) {
      const GradientTile t = found_tile<weight_gradient_tile<T>>(d);
      with_channels<D, each_of_gradient>(t.each, [&]<int Each>() {
        launch("convolve_weight_gradient", convolve_weight_gradient<T, Each, D, X>,
               weight_gradient_grid<T>(c, t), where(), d, t, n, p);
      });
      if constexpr (DataGradient) {
        if (c.stride_h == 1 && c.stride_w == 1) {
          const Sliding sliding = backward_sliding(c, border(below));
          const SlidingTile tile = data_gradient_tile<T>(d, below);
          const Grid across = sliding_grid<T>(c, sliding, tile, n);
          with_channels<D, backward_channels<Under>>(sliding.channels_a_thread(), [&]<int Channels>() {
            launch("convolve_data_gradient", convolve_data_gradient<T, Channels, D, Under>, across, where(),
                   d, tile, s.first, of_stored(p), below, draw);
          });
        } else {
          launch("convolve_strided_data_gradient", convolve_strided_data_gradient<T, D, Under>,
                 strided_data_gradient_grid(c, n), where(), d, s.first, n, of_stored(p), below, draw);
        }
      }
    } else if constexpr (std::is_same_v<Stage, GroupedContraction>) {
      launch("grouped_weight_gradient", grouped_weight_gradient<T, D>, weight_gradient_grid<T>(c), where(), d,
             n, p);
      if constexpr (DataGradient)
        launch("grouped_data_gradient", grouped_data_gradient<T, D, Under>, data_gradient_grid(c, n), where(),
               d, s.first, n, p, below, draw);
    } else if constexpr (std::is_same_v<Stage, Lookup>) {
      launch("lookup_gradient", lookup_gradient<T>, gradient_grid(c), where(), c, n, p);
    } else if constexpr (std::is_same_v<Stage, Window>) {
      if constexpr (DataGradient)
        launch("window_backward", window_backward<T, D, Under>, backward_grid(c, n), where(), d, s.first, n,
               p, below, draw);
    } else if constexpr (std::is_same_v<Stage, Pointwise>) {
      if constexpr (DataGradient)
        launch("pointwise_backward", pointwise_backward<T, D, Chain, Under>, pointwise_grid(c, n), where(), d,
               s.first, n, p, chain, below, draw);
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      launch("dense_backward", dense_backward<T, Under>, backward_grid<T>(c, DataGradient, n), where(), c,
             DataGradient ? data_blocks(c, n) : 0, s.first, n, p, below, draw);
    } else if constexpr (std::is_same_v<Stage, RowNorm>) {
      auto* const statistics = reinterpret_cast<ops::RowStatistics<T>*>(scratch_.data());
      if (DataGradient || c.affine)
        launch("row_norm_backward", row_norm_backward<T, DataGradient, Under>, row_norm_grid(c, n), where(),
               c, s.first, p, statistics, below, draw);
      if (c.affine)
        launch("row_norm_weight_gradient", row_norm_weight_gradient<T>, weight_gradient_grid<T>(c), where(),
               c, n, p, statistics);
    } else {
      if constexpr (DataGradient)
        launch("softmax_backward", softmax_backward<T, Under>, rows_grid(n), where(), c, s.first, n, p, below,
               draw);
    }
  }

  static int norm_chunk(int n, int) { return gpu::norm_chunk(n); }
  static constexpr int norm_parts(int n, int) { return std::min(n, most_norm_parts); }
  template <class D>
  void norm_measure(Slice s, D d, const T* x, T* parts, int) {
    const int n = s.count();
    launch("norm_measure", gpu::norm_measure<T>, norm_grid<T>(d.get(), n), where(), d.get(), n,
           gpu::norm_chunk(n), x, parts);
  }
  template <class D, class Chain>
  void norm_sums(Slice s, D d, const T* x, const ops::NormState<T>& state, T* dy, T* parts, int,
                 const Chain& chain, ops::Draw at) {
    const int n = s.count();
    launch("norm_sums", gpu::norm_sums<T, Chain>, norm_grid<T>(d.get(), n), where(), d.get(), s.first, n,
           gpu::norm_chunk(n), x, state, dy, parts, chain, by_block(at));
  }
  template <class D, class Under>
  void norm_backward(Slice s, D d, const T* x, const ops::NormState<T>& state, const T* dy, T* dx,
                     const Under& below, ops::Draw at) {
    const int n = s.count();
    launch("norm_backward", gpu::norm_backward<T, Under>, pointwise_grid(d.get(), n), where(), d.get(),
           s.first, n, x, state, dy, dx, below, by_block(at));
  }

  /// dx of a Join's input.
  template <int Which, class D, class Under>
  void join_backward(Slice s, D d, const T* x, const T* dy, T* dx, const Under& below, ops::Draw at) {
    const int n = s.count();
    launch("join_backward", gpu::join_backward<Which, T, D, Under>, image_grid(d.get().input(Which), n),
           where(), d, s.first, n, x, dy, dx, below, by_block(at));
  }
  /// to += from, an image a sample.
  void add(Slice s, const StoredImage& d, const T* from, T* to) {
    launch("add_images", add_images<T>, image_grid(d, s.count()), where(), d, s.count(), from, to);
  }

  /// All parts are added in one go, by finish_gather().
  template <class D>
  void gather(D d, const T* partials, std::size_t, int, T* dw, T* db) {
    const auto c = d.get();
    if (gatherings_.count == gatherings_.most) finish_gather();
    gatherings_.at[gatherings_.count++] = {partials, gradient_parts(c), c.weight_size(), c.bias_size(), dw,
                                           db};
  }
  /// After all gather() of a backward pass.
  void finish_gather() {
    if (gatherings_.count == 0) return;
    int largest = 0;
    for (int i = 0; i < gatherings_.count; ++i)
      largest = std::max(largest, gatherings_.at[i].weights + gatherings_.at[i].biases);
    const Grid grid = gather_grid(largest, gatherings_.count);
    const Gatherings<T> all = std::exchange(gatherings_, {});
    launch("gather_parts", gather_parts<T>, grid, where(), all);
  }

 private:
  static constexpr int forward_channels(const Contraction& c) {
    return forward_sliding(c).channels_a_thread();
  }
  template <class Under>
  static constexpr int backward_channels(const Contraction& c) {
    return backward_sliding(c, known_border<Under>).channels_a_thread();
  }
  static constexpr int each_of_gradient(const Contraction& c) { return weight_gradient_tile<T>(c).each; }
  /// f<Channels>(): those that a thread has; of an erased net known at run time only.
  template <class D, int (*Of)(const Contraction&), class F>
  static void with_channels(int channels, F&& f) {
    if constexpr (D::complete) {
      constexpr int known = Of(D::value);
      f.template operator()<known>();
    } else if (channels == 8) {
      f.template operator()<8>();
    } else {
      f.template operator()<4>();
    }
  }
  /// Samples of the host on this device.
  DeviceSamples brought(const Entry& e, const T* samples, int n) {
    const std::size_t count = std::size_t(n) * std::size_t(e.size());
    if (samples_.size() < count) samples_ = allocate<T>(count);
    samples_up_.send(samples_.data(), where(), samples, count * sizeof(T));
    return {{samples_.data(), nullptr, nullptr}, where()};
  }
  /// A pass whose x no kernel of the way back to it reads: there is no stage below.
  template <class X>
  static BackwardPass<T> of_stored(const BackwardPass<T, X>& p) {
    if constexpr (std::is_same_v<X, const T*>)
      return p;
    else
      return {nullptr, p.w, p.y, p.argmax, p.dy, p.dx, p.dw, p.db};
  }
  template <class U>
  const U* sent(std::span<const U> from, Memory<U>& to, Upload& up) {
    if (to.size() < from.size()) to = allocate<U>(from.size());
    up.send(to.data(), where(), from.data(), from.size_bytes());
    return to.data();
  }
  /// n elements in this program's memory, until the next call.
  template <class U>
  U* fetch(const U* p, std::size_t n) const {
    if (on_host_.size() < n * sizeof(U)) on_host_ = PinnedBuffer<std::byte>(n * sizeof(U));
    copy_to_host(on_host_.data(), p, where(), n * sizeof(U));
    return reinterpret_cast<U*>(on_host_.data());
  }

  Memory<T> scratch_, samples_;
  Memory<unsigned> done_;  // a count for each tile of a linear layer
  Gatherings<T> gatherings_;
  Upload samples_up_, labels_up_, values_up_;
  Memory<std::int32_t> labels_;
  Memory<T> values_;
  mutable PinnedBuffer<std::byte> on_host_;  // what was fetched last
};

}  // namespace kern::gpu
#endif
