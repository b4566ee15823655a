// The one executor of a plan: it knows the order of things and where they lie; the backend does the work.
//
// Forward, the stages before the first dense one run depth-first: a few samples go through all of them while
// their activations are in the cache. From the first dense stage on, each runs over the whole batch. Backward
// is the mirror image; each chunk of samples sums its own gradients, and the chunks are added in order, so
// that the bits depend neither on the number of threads nor on who ran what.
#pragma once
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "../core/memory.hpp"
#include "../ops/batch_norm.hpp"
#include "../ops/chain.hpp"
#include "structure.hpp"

namespace kern::graph {

template <class Net, class In, bool Erased, class Backend, class T>
class Executor {
  template <class U>
  using Memory = typename Backend::template Memory<U>;
  using S = Structure<Net, In, Erased, Backend>;

 public:
  /// What is fused and in which order, in training. An erased net's sizes are in plan() alone.
  static constexpr const auto& structure = S::training;
  static constexpr int stages = S::stages, chunked = S::chunked;
  using PlanType = typename S::PlanType;
  /// All parameters, or what lies as they do.
  using Parameters = Memory<T>;

  template <class Device>
  [[gnu::cold]] Executor(Dims in, const Device& device)
      : plan_(S::template plan_for<Mode::training>(in)),
        inference_(S::template plan_for<Mode::inference>(in)),
        backend_(device) {
    if (plan_.fault.kind != Mismatch::none) return;
    parameters_ = backend_.template allocate<T>(plan_.stored);
    if constexpr (S::normalises) {
      buffers_ = backend_.template allocate<T>(plan_.buffers);
      norm_state_ = backend_.template allocate<T>(ops::NormState<T>::size(int(plan_.buffers / 2)));
    }
    std::size_t scratch = 0;
    each<0, stages>([&]<int I>() {
      if constexpr (structure.stage[I].has_product()) {
        const auto d = numbers<I>();
        forward_at_[I] = forward_size_;
        forward_size_ += Backend::forward_size(d);
        backward_at_[I] = backward_size_;
        backward_size_ += Backend::backward_size(d);
        partial_at_[I] = partial_size_;
        if constexpr (I < chunked) partial_size_ += aligned(Backend::partial_size(d));
      }
      scratch = std::max(scratch, Backend::scratch_size(numbers<I>(), 1));
    });
    forward_weights_ = backend_.template allocate<T>(forward_size_);
    std::size_t own = 0;
    each<0, S::inference.stages>([&]<int I>() {
      if constexpr (S::has_own_weights(I)) {
        const auto d = numbers<I, Mode::inference>();
        own_at_[I] = own;
        own += aligned(std::size_t(d.weight_size() + d.cols)) + aligned(Backend::forward_size(d));
      }
    });
    if (own > 0) own_ = backend_.template allocate<T>(own);
    while (chunk_ < 64 && partial_size_ * sizeof(T) * std::size_t(64 / chunk_) > partial_limit) chunk_ *= 2;
    backend_.reserve(scratch);
  }

  const PlanType& plan() const { return plan_; }
  Backend& backend() { return backend_; }
  const Backend& backend() const { return backend_; }
  /// Samples that share one sum of gradients.
  int chunk() const { return chunk(capacity_); }

  /// All parameters as stored; whoever changes them calls parameters_changed().
  Memory<T>& parameters() { return parameters_; }
  void parameters_changed() { prepared_forward_ = prepared_backward_ = prepared_inference_ = false; }
  /// f(parameters) changes them in this program's memory.
  template <class F>
  void edit_parameters(F&& f) {
    backend_.edit(parameters_.data(), plan_.stored, f);
    parameters_changed();
  }
  /// What norms keep beside the parameters, and whoever changes that calls parameters_changed().
  Memory<T>& buffers() { return buffers_; }
  template <class F>
  void edit_buffers(F&& f) {
    backend_.edit(buffers_.data(), plan_.buffers, f);
    parameters_changed();
  }
  const T* buffers_on_host() const { return backend_.to_host(buffers_.data(), plan_.buffers); }
  const T* parameters_on_host() const { return backend_.to_host(parameters_.data(), plan_.stored); }
  /// Their gradients after backward(), laid out alike; none before.
  Memory<T>& gradients() { return gradients_; }
  bool has_gradients() const { return gradients_.size() > 0; }
  const T* gradients_on_host() const { return backend_.to_host(gradients_.data(), gradients_.size()); }

  // Samples: a pointer to them in PyTorch's layout, or what else the backend can load.

  /// Runs n samples through all stages, dropout off. -> the outputs, as stored.
  template <class Samples>
  [[gnu::noinline]] const T* infer(Samples samples, int n) {
    constexpr int all = S::inference.stages, alone = S::inference.chunked;
    reserve_inference(n);
    prepare_inference();
    const auto run = [&]<int I>(Slice s, const T* x) {
      infer<I>(s, I == 0 ? x : inferred<I - 1>(s.worker < 0 ? 0 : s.worker, s.first),
               inferred<I>(s.worker < 0 ? 0 : s.worker, s.first));
    };
    const int threads = backend_.threads();
    if (n < 2 * threads && threads > 1) {  // too few for one a worker: the backend splits each stage
      backend_.load(plan_.entry(), samples, inner_x_.data(), n);
      each<0, alone>(
          [&]<int I>() { run.template operator()<I>(Slice{0, n, Slice::whole}, inner_x_.data()); });
    } else {
      backend_.chunks(n, inference_chunk(), [&](Slice s, int) {
        T* x = inner_x_.data() + std::size_t(s.worker * inference_chunk()) * std::size_t(plan_.input_size());
        T* whole = alone == 0 ? inner_x_.data() + std::size_t(s.first) * std::size_t(plan_.input_size()) : x;
        backend_.load(plan_.entry(), samples + std::size_t(s.first) * std::size_t(plan_.input.size()), whole,
                      s.count());
        each<0, alone>([&]<int I>() { run.template operator()<I>(s, x); });
      });
    }
    each<alone, all>(
        [&]<int I>() { run.template operator()<I>(Slice{0, n, Slice::whole}, inner_x_.data()); });
    return inferred<all - 1>(0, 0);
  }

  /// Runs n samples through the first Stages stages, keeping what backward() needs. -> their outputs, as
  /// stored.
  template <int Stages = stages>
  const T* forward(const T* samples, int n, Draw draw) {
    begin(samples, n, draw);
    return run<Stages>(samples, n);
  }
  /// The two parts of forward(): what may allocate and copy, and the stages.
  template <class Samples>
  [[gnu::noinline]] void begin(Samples samples, int n, Draw draw) {
    if constexpr (S::normalises)
      require_variance(n), prepared_inference_ = false;  // the statistics will change
    reserve_training(n);
    prepare_forward();
    draw_ = draw;
    backend_.begin(draw);
    if constexpr (Backend::whole_batches) backend_.load(plan_.entry(), samples, x<0>(0), n);
  }
  template <int Stages = stages, class Samples>
  [[gnu::noinline]] const T* run([[maybe_unused]] Samples samples, int n) {
    // Groups of stages that a few samples run through: before a norm all samples must have come so far.
    constexpr int most = std::min(chunked, Stages);
    each<0, S::groups>([&]<int G>() {
      constexpr int first = S::group_first(G), last = std::min(S::group_first(G + 1), most);
      if constexpr (first <= most && (G == 0 || first < most))
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
          if constexpr (G == 0 && !Backend::whole_batches)
            backend_.load(plan_.entry(), samples + std::size_t(s.first) * std::size_t(plan_.input.size()),
                          x<0>(s.first), s.count());
          each<first, last>(
              [&]<int I>() { forward<I>(s, x<I>(s.first), y<I>(s.first), argmax<I>(s.first), draw_); });
          if constexpr (S::is_norm(last) && last < most) measure<last>(s, chunk);
        });
      if constexpr (S::is_norm(last) && last < most) finish_measure<last>(n);
    });
    each<chunked, Stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) { measure<I>(s, chunk); });
        finish_measure<I>(n);
      }
      forward<I>(Slice{0, n, Slice::whole}, x<I>(0), y<I>(0), argmax<I>(0), draw_);
    });
    return y<Stages - 1>(0);
  }
  /// Where dL/d(output of forward<Stages>()) goes before backward<Stages>(), laid out as the output; padding
  /// 0.
  template <int Stages = stages>
  T* output_gradient() {
    static_assert(Stages >= chunked, "what only a few samples share can't hold a batch's gradient");
    return dy<Stages - 1>(0, 0);
  }
  /// The gradients of all parameters, after forward<Stages>() of n samples; with InputGradient also
  /// dL/d(samples).
  template <int Stages = stages, bool InputGradient = false>
  [[gnu::noinline]] void backward(int n) {
    if (!prepared_backward_) {
      each<0, stages>([&]<int I>() {
        if constexpr (structure.stage[I].has_product())
          backend_.prepare_backward(descriptor<I>(), weight<I>(), backward_weights_.data() + backward_at_[I]);
      });
      prepared_backward_ = true;
    }
    if (InputGradient && dx_.size() == 0)
      dx_ = backend_.template allocate<T>(std::size_t(capacity_) * std::size_t(plan_.input_size()));
    if constexpr (Backend::takes_back_below)
      backend_.undo(Slice{0, n, Slice::whole}, descriptor<Stages - 1>(), y<Stages - 1>(0),
                    dy<Stages - 1>(0, 0), S::template fused_chain<Stages - 1>(), draw_);
    each_down<Stages, chunked>([&]<int I>() {
      const Slice whole{0, n, Slice::whole};
      T* const into = I == 0 ? dx_.data() : dy<I - 1>(0, 0);
      if constexpr (S::is_norm(I)) {
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) { sums<I>(s, chunk); });
        finish_sums<I>(n);
        if constexpr (I > 0 || InputGradient) norm_backward<I>(whole, into);
      } else {
        backward<I, (I > 0 || InputGradient)>(whole, dy<I>(0, 0), into, gradient<I>(), bias_gradient<I>());
      }
    });
    if constexpr (chunked > 0) {
      constexpr int most = std::min(chunked, Stages);
      const auto into = [&]<int I>(Slice s) -> T* {
        if constexpr (I > 0) return dy<I - 1>(s.worker, s.first);
        if constexpr (InputGradient)
          return dx_.data() + std::size_t(s.first) * std::size_t(plan_.input_size());
        return nullptr;
      };
      each_down<S::groups, 0>([&]<int G>() {
        constexpr int first = S::group_first(G), last = std::min(S::group_first(G + 1), most);
        constexpr bool sums_first = G > 0;  // then it begins with a norm
        if constexpr (first < most || G == 0)
          backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
            T* partial = partials_.data() + std::size_t(chunk) * partial_size_;
            if constexpr (!Backend::whole_batches)
              if (last == most) backend_.zero(partial, partial_size_);
            if constexpr (last < most && (last > 0 || InputGradient))
              norm_backward<last>(s, into.template operator()<last>(s));
            each_down<last, first + sums_first>([&]<int I>() {
              backward<I, (I > 0 || InputGradient)>(s, dy<I>(s.worker, s.first),
                                                    into.template operator()<I>(s), partial + partial_at_[I],
                                                    nullptr);
            });
            if constexpr (sums_first) sums<first>(s, chunk);
          });
        if constexpr (sums_first && first < most) finish_sums<first>(n);
      });
      const int chunks = (n + chunk() - 1) / chunk();
      each<0, most>([&]<int I>() {
        if constexpr (structure.stage[I].has_product())
          backend_.gather(descriptor<I>(), partials_.data() + partial_at_[I], partial_size_, chunks,
                          gradient<I>(), bias_gradient<I>());
      });
      backend_.finish_gather();
    }
  }
  /// Running statistics, from those of the last forward() of n samples.
  template <int Stages = stages>
  void track(int n) {
    each<0, Stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        const Norm d = numbers<I>();
        T* const running = buffers_.data() + plan_.stage[I].buffers;
        backend_.each_if_finite(
            d.features(), ops::TrackNorm<T>{norm_state<I>(), plan_.stage[I].rates.momentum,
                                            double(n) * d.positions(), running, running + d.features()});
      }
    });
  }
  /// dL/d(samples) after backward<Stages, true>(), in PyTorch's layout.
  void input_gradient(int n, T* out) const {
    const Entry e = plan_.entry();
    const T* dx = backend_.to_host(dx_.data(), std::size_t(n) * std::size_t(e.stored_size()));
    for (int s = 0; s < n; ++s, dx += e.stored_size(), out += e.size())
      for (int c = 0; c < e.c; ++c)
        for (int h = 0; h < e.h; ++h)
          for (int w = 0; w < e.w; ++w)
            out[(c * e.h + h) * e.w + w] = dx[e.origin() + h * e.pitch() + w * e.cols + c];
  }

  /// The first stage of the last forward<Stages>() of n samples with an output that is not finite, or -1.
  template <int Stages = stages>
  int first_not_finite(int n) {
    int found = -1;
    each<0, Stages>([&]<int I>() {
      const std::size_t size = std::size_t(n) * std::size_t(plan_.stage[I].out_size());
      if (found >= 0) return;
      const T* const out = backend_.to_host(y<I>(0), size);
      if (!std::all_of(out, out + size, [](T v) { return std::isfinite(v); })) found = I;
    });
    return found;
  }

 private:
  static constexpr std::size_t partial_limit = std::size_t{8} << 20;  // bytes, for 64 samples
  /// Where there is room for `capacity` samples.
  int chunk(int capacity) const { return Backend::whole_batches ? std::max(capacity, 1) : chunk_; }
  static constexpr int inference_chunk(int capacity) {
    return Backend::whole_batches ? std::max(capacity, 1) : 2;
  }
  int inference_chunk() const { return inference_chunk(inference_capacity_); }
  static constexpr std::size_t aligned(std::size_t n) { return (n + alignment - 1) / alignment * alignment; }

  template <int First, int Last, class F>
  static void each(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (f.template operator()<First + I>(), ...);
    }(std::make_integer_sequence<int, (Last > First ? Last - First : 0)>{});
  }
  template <int Last, int First, class F>
  static void each_down(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (f.template operator()<Last - 1 - I>(), ...);
    }(std::make_integer_sequence<int, (Last > First ? Last - First : 0)>{});
  }

  template <int I, Mode M = Mode::training>
  constexpr auto numbers() const {
    return S::template numbers_of<I, M>(M == Mode::training ? plan_.stage[I] : inference_.stage[I]);
  }
  template <int I, Mode M = Mode::training>
  auto descriptor() const {
    return Known<S::template known_numbers<I, M>()>(numbers<I, M>());
  }
  template <int I>
  const T* weight() const {
    return parameters_.data() + plan_.stage[I].weight;
  }
  template <int I>
  Weights<T> weights() {
    if constexpr (structure.stage[I].kind == Kind::norm)
      return {norm_state<I>().scale, norm_state<I>().shift, nullptr, nullptr};
    else if constexpr (structure.stage[I].has_product())
      return {weight<I>(), structure.stage[I].has_bias ? parameters_.data() + plan_.stage[I].bias : nullptr,
              forward_weights_.size() ? forward_weights_.data() + forward_at_[I] : nullptr,
              backward_weights_.size() ? backward_weights_.data() + backward_at_[I]
                                       : nullptr};  // in training only
    else
      return {};
  }
  template <int I>
  T* gradient() {
    return gradients_.data() + plan_.stage[I].weight;
  }
  template <int I>
  T* bias_gradient() {
    return structure.stage[I].has_bias ? gradients_.data() + plan_.stage[I].bias : nullptr;
  }
  void prepare_forward() {
    if (prepared_forward_) return;
    each<0, stages>([&]<int I>() {
      if constexpr (structure.stage[I].has_product())
        backend_.prepare_forward(descriptor<I>(), weight<I>(), forward_weights_.data() + forward_at_[I]);
    });
    prepared_forward_ = true;
  }

  // Norms.
  /// Of a norm with these buffers.
  ops::NormState<T> norm_state(const Stage& s, int features) {
    return {norm_state_.data() + ops::NormState<T>::size(int(s.buffers / 2)), features};
  }
  template <int I>
  ops::NormState<T> norm_state() {
    return norm_state(plan_.stage[I], numbers<I>().features());
  }
  template <int I>
  ops::NormParts<T> norm_parts(int n) {
    const Norm d = numbers<I>();
    return {norm_parts_.data(), d.features(), d.positions(), n, Backend::norm_chunk(n, chunk())};
  }
  /// From a norm's parameters, if it has any.
  ops::NormScale<T> norm_scale(const Stage& s, std::size_t weight, int features) {
    const T* const w = s.affine ? parameters_.data() + weight : nullptr;
    return {w, w ? w + features : nullptr, s.rates.eps};
  }
  /// Throws ArgumentError where a norm would have one value a feature, as PyTorch does.
  [[gnu::cold]] void require_variance(int n) const {
    each<0, stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        if (n * numbers<I>().positions() > 1) return;
        constexpr int layer = structure.stage[I].anchor;
        throw ArgumentError(text("layer ", layer, " (", nn::layer_paths<Net>[layer].text,
                                 "): training needs more than 1 value a channel, got 1: a batch of 1"));
      }
    });
  }
  template <int I>
  void measure(Slice s, int chunk) {
    backend_.norm_measure(s, descriptor<I>(), x<I>(s.first), norm_parts_.data(), chunk);
  }
  template <int I>
  void finish_measure(int n) {
    const int features = numbers<I>().features();
    backend_.each(features, ops::MeasureNorm<T>{norm_parts<I>(n),
                                                norm_scale(plan_.stage[I], plan_.stage[I].weight, features),
                                                norm_state<I>()});
  }
  template <int I>
  void sums(Slice s, int chunk) {
    backend_.norm_sums(s, descriptor<I>(), x<I>(s.first), norm_state<I>(), dy<I>(s.worker, s.first),
                       norm_parts_.data(), chunk, S::template chain<I>(), draw_);
  }
  template <int I>
  void finish_sums(int n) {
    constexpr bool affine = structure.stage[I].affine;
    backend_.each(numbers<I>().features(),
                  ops::NormGradient<T>{norm_parts<I>(n), norm_state<I>(), affine ? gradient<I>() : nullptr,
                                       affine ? bias_gradient<I>() : nullptr});
  }
  template <int I>
  void norm_backward(Slice s, T* dx) {
    backend_.norm_backward(s, descriptor<I>(), x<I>(s.first), norm_state<I>(), dy<I>(s.worker, s.first), dx,
                           below<I>(), draw_);
  }

  // Inference.
  template <int I>
  void infer(Slice s, const T* x, T* y) {
    backend_.forward(s, descriptor<I, Mode::inference>(),
                     ForwardPass<T>{x, inference_weights<I>(), y, nullptr},
                     S::template chain<I, Mode::inference>(), Draw{});
  }
  template <int I>
  Weights<T> inference_weights() {
    constexpr Stage known = S::inference.stage[I];
    if constexpr (S::has_own_weights(I)) {
      const auto d = numbers<I, Mode::inference>();
      const T* const own = own_.data() + own_at_[I];
      const T* const prepared = own + aligned(std::size_t(d.weight_size() + d.cols));
      if constexpr (known.folded >= 0)
        return {own, own + d.weight_size(), prepared, nullptr};
      else
        return {weight<S::trained_as(I)>(), weights<S::trained_as(I)>().bias, prepared, nullptr};
    } else if constexpr (known.has_product() || known.kind == Kind::norm) {
      return weights<S::trained_as(I)>();
    } else {
      return {};
    }
  }
  void prepare_inference() {
    prepare_forward();
    if (prepared_inference_) return;
    each<0, S::inference.stages>([&]<int I>() {
      constexpr Stage known = S::inference.stage[I];
      if constexpr (known.folded >= 0 || known.kind == Kind::norm) {
        const Stage& s = inference_.stage[I];
        const auto d = numbers<I, Mode::inference>();
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
        backend_.prepare_forward(descriptor<I, Mode::inference>(), inference_weights<I>().weight,
                                 const_cast<T*>(inference_weights<I>().forward));
    });
    prepared_inference_ = true;
  }
  template <int I>
  void forward(Slice s, const T* x, T* y, WindowIndex* argmax, Draw draw) {
    backend_.forward(s, descriptor<I>(), ForwardPass<T>{x, weights<I>(), y, argmax}, S::template chain<I>(),
                     draw);
  }
  template <int I, bool DataGradient>
  void backward(Slice s, T* dy, T* dx, T* dw, T* db) {
    const BackwardPass<T> pass{
        x<I>(s.first), weights<I>(), y<I>(s.first), argmax<I>(s.first), dy, dx, dw, db};
    backend_.template backward<DataGradient>(s, descriptor<I>(), pass, S::template chain<I>(), below<I>(),
                                             draw_);
  }
  template <int I>
  auto below() const {
    if constexpr (I == 0 || !Backend::takes_back_below)
      return NoBelow{};
    else
      return Below<decltype(descriptor<I - 1>()), decltype(S::template fused_chain<I - 1>())>{
          descriptor<I - 1>(), S::template fused_chain<I - 1>()};
  }
  // Where things lie in training: every stage's output of the whole batch is kept.
  template <int I>
  T* x(int sample) {
    if constexpr (I == 0)
      return x_.data() + std::size_t(sample) * std::size_t(plan_.input_size());
    else
      return y<I - 1>(sample);
  }
  template <int I>
  T* y(int sample) {
    const auto& s = plan_.stage[I];
    return y_.data() + std::size_t(capacity_) * s.y + std::size_t(sample) * std::size_t(s.out_size());
  }
  template <int I>
  WindowIndex* argmax(int sample) {
    if constexpr (!structure.stage[I].indexed) return nullptr;
    const auto& s = plan_.stage[I];
    return argmax_.data() + std::size_t(capacity_) * s.argmax +
           std::size_t(sample) * std::size_t(s.out_size());
  }
  /// Gradients of what only the same chunk will read are kept a worker, the others for the batch.
  template <int I>
  T* dy(int worker, int sample) {
    constexpr std::size_t i = std::size_t(std::max(I, 0));  // -1: named, never called
    const auto& s = plan_.stage[i];
    if constexpr (structure.stage[i].inner_dy)
      return inner_dy_.data() + std::size_t(worker) * std::size_t(chunk()) * plan_.inner_gradients +
             std::size_t(chunk()) * s.dy;
    else
      return dy_.data() + std::size_t(capacity_) * s.dy + std::size_t(sample) * std::size_t(s.out_size());
  }
  // And in inference: what only the same slice reads is kept a worker.
  template <int I>
  T* inferred(int worker, int sample) {
    const auto& s = inference_.stage[std::size_t(std::max(I, 0))];  // -1: named, never called
    if constexpr (I + 1 < S::inference.chunked)
      return inner_y_.data() + std::size_t(inner_samples(inference_capacity_)) * s.y +
             std::size_t(worker * inference_chunk()) * std::size_t(s.out_size());
    else
      return outer_y_.data() + std::size_t(inference_capacity_) * (s.y - inference_.inner) +
             std::size_t(sample) * std::size_t(s.out_size());
  }
  int inner_samples(int capacity) const { return inference_chunk(capacity) * backend_.threads(); }

  [[gnu::cold]] void reserve_training(int n) {
    if (n <= capacity_) return;
    const std::size_t count = std::size_t(n);
    if (inner_dy_.size() == 0 || Backend::whole_batches)
      inner_dy_ = backend_.template allocate<T>(std::size_t(backend_.threads()) * std::size_t(chunk(n)) *
                                                plan_.inner_gradients);
    x_ = backend_.template allocate<T>(count * std::size_t(plan_.input_size()));
    y_ = backend_.template allocate<T>(count * plan_.activations);
    argmax_ = backend_.template allocate<WindowIndex>(count * plan_.indices);
    dy_ = backend_.template allocate<T>(count * plan_.outer_gradients);
    if constexpr (S::normalises) norm_parts_ = backend_.template allocate<T>(norm_parts_size(n));
    partials_ = backend_.template allocate<T>((count + std::size_t(chunk(n)) - 1) / std::size_t(chunk(n)) *
                                              partial_size_);
    dx_ = Memory<T>();
    reserve_scratch(n);
    if (capacity_ == 0) {
      backward_weights_ = backend_.template allocate<T>(backward_size_);
      gradients_ = backend_.template allocate<T>(plan_.stored);
    }
    capacity_ = n;  // last: if memory runs out before, it is tried again
  }
  [[gnu::cold]] void reserve_inference(int n) {
    if (n <= inference_capacity_) return;
    const std::size_t slots = std::size_t(std::max(inner_samples(n), S::inference.chunked == 0 ? n : 0));
    inner_x_ = backend_.template allocate<T>(slots * std::size_t(plan_.input_size()));
    inner_y_ = backend_.template allocate<T>(std::size_t(inner_samples(n)) * inference_.inner);
    outer_y_ = backend_.template allocate<T>(std::size_t(n) * (inference_.activations - inference_.inner));
    reserve_scratch(n);
    inference_capacity_ = n;
  }
  void reserve_scratch(int n) {
    std::size_t scratch = 0;
    each<0, stages>([&]<int I>() { scratch = std::max(scratch, Backend::scratch_size(numbers<I>(), n)); });
    backend_.reserve(scratch);
  }

  /// For any batch of up to n samples.
  std::size_t norm_parts_size(int n) const {
    std::size_t most = 0;
    each<0, stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) most = std::max(most, 2 * std::size_t(numbers<I>().features()));
    });
    return most * std::size_t(Backend::norm_parts(n, chunk(n)));
  }

  PlanType plan_, inference_;
  Backend backend_;
  Draw draw_{};
  int chunk_ = 4, capacity_ = 0, inference_capacity_ = 0;
  std::size_t forward_size_ = 0, backward_size_ = 0, partial_size_ = 0;
  static constexpr int at_least_one = stages > 0 ? stages : 1;  // a net that does not fit has none
  std::size_t forward_at_[at_least_one]{}, backward_at_[at_least_one]{}, partial_at_[at_least_one]{},
      own_at_[at_least_one]{};
  bool prepared_forward_ = false, prepared_backward_ = false, prepared_inference_ = false;
  Memory<T> parameters_, gradients_, forward_weights_, backward_weights_, partials_;
  Memory<T> buffers_, norm_state_, norm_parts_, own_;
  Memory<T> x_, y_, dy_, inner_dy_, dx_;
  Memory<T> inner_x_, inner_y_, outer_y_;
  Memory<WindowIndex> argmax_;
};

}  // namespace kern::graph
