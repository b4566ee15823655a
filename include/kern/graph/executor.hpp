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
#include "../ops/chain.hpp"
#include "checked.hpp"

namespace kern::graph {

template <class Net, class In, bool Erased, class Backend, class T>
class Executor {
  template <class U>
  using Memory = typename Backend::template Memory<U>;

 public:
  /// What is fused and in which order: known for an erased net, too. Its sizes are not, then.
  static constexpr auto structure =
      make_plan<Net>(In::is_static ? In::dims : In::any_dims, layout_of<Backend>, In::is_static);
  static constexpr int stages = structure.stages, chunked = structure.chunked;
  using PlanType = std::remove_const_t<decltype(structure)>;

  template <class Device>
  [[gnu::cold]] Executor(Dims in, const Device& device) : plan_(plan_for(in)), backend_(device) {
    if (plan_.fault.kind != Mismatch::none) return;
    parameters_ = backend_.template allocate<T>(plan_.stored);
    std::size_t scratch = 0;
    each<0, stages>([&]<int I>() {
      if constexpr (structure.stage[I].has_parameters()) {
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
  void parameters_changed() { prepared_forward_ = prepared_backward_ = false; }
  /// f(parameters) changes them in this program's memory.
  template <class F>
  void edit_parameters(F&& f) {
    backend_.edit(parameters_.data(), plan_.stored, f);
    parameters_changed();
  }
  const T* parameters_on_host() const { return backend_.to_host(parameters_.data(), plan_.stored); }
  /// Their gradients after backward(), laid out alike; none before.
  Memory<T>& gradients() { return gradients_; }
  bool has_gradients() const { return gradients_.size() > 0; }
  const T* gradients_on_host() const { return backend_.to_host(gradients_.data(), gradients_.size()); }

  // Samples: a pointer to them in PyTorch's layout, or what else the backend can load.

  /// Runs n samples through all stages, dropout off. -> the outputs, as stored.
  template <class Samples>
  [[gnu::noinline]] const T* infer(Samples samples, int n) {
    reserve_inference(n);
    prepare_forward();
    const int threads = backend_.threads();
    if (n < 2 * threads && threads > 1) {  // too few for one a worker: the backend splits each stage
      backend_.load(plan_.entry(), samples, inner_x_.data(), n);
      each<0, chunked>([&]<int I>() {
        forward<I>(Slice{0, n, Slice::whole}, I == 0 ? inner_x_.data() : inferred<I - 1>(0, 0),
                   inferred<I>(0, 0), nullptr, {});
      });
    } else {
      backend_.chunks(n, inference_chunk(), [&](Slice s, int) {
        T* x = inner_x_.data() + std::size_t(s.worker * inference_chunk()) * std::size_t(plan_.input_size());
        T* whole =
            chunked == 0 ? inner_x_.data() + std::size_t(s.first) * std::size_t(plan_.input_size()) : x;
        backend_.load(plan_.entry(), samples + std::size_t(s.first) * std::size_t(plan_.input.size()), whole,
                      s.count());
        each<0, chunked>([&]<int I>() {
          forward<I>(s, I == 0 ? x : inferred<I - 1>(s.worker, s.first), inferred<I>(s.worker, s.first),
                     nullptr, {});
        });
      });
    }
    each<chunked, stages>([&]<int I>() {
      forward<I>(Slice{0, n, Slice::whole}, I == 0 ? inner_x_.data() : inferred<I - 1>(0, 0),
                 inferred<I>(0, 0), nullptr, {});
    });
    return inferred<stages - 1>(0, 0);
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
    reserve_training(n);
    prepare_forward();
    draw_ = draw;
    backend_.begin(draw);
    if constexpr (Backend::whole_batches) backend_.load(plan_.entry(), samples, x<0>(0), n);
  }
  template <int Stages = stages, class Samples>
  [[gnu::noinline]] const T* run([[maybe_unused]] Samples samples, int n) {
    backend_.chunks(n, chunk(), [&](Slice s, int) {
      if constexpr (!Backend::whole_batches)
        backend_.load(plan_.entry(), samples + std::size_t(s.first) * std::size_t(plan_.input.size()),
                      x<0>(s.first), s.count());
      each<0, std::min(chunked, Stages)>(
          [&]<int I>() { forward<I>(s, x<I>(s.first), y<I>(s.first), argmax<I>(s.first), draw_); });
    });
    each<chunked, Stages>(
        [&]<int I>() { forward<I>(Slice{0, n, Slice::whole}, x<I>(0), y<I>(0), argmax<I>(0), draw_); });
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
        if constexpr (structure.stage[I].has_parameters())
          backend_.prepare_backward(descriptor<I>(), weight<I>(), backward_weights_.data() + backward_at_[I]);
      });
      prepared_backward_ = true;
    }
    if (InputGradient && dx_.size() == 0)
      dx_ = backend_.template allocate<T>(std::size_t(capacity_) * std::size_t(plan_.input_size()));
    if constexpr (Backend::takes_back_below)
      backend_.undo(Slice{0, n, Slice::whole}, descriptor<Stages - 1>(), y<Stages - 1>(0),
                    dy<Stages - 1>(0, 0), fused_chain<Stages - 1>(), draw_);
    each_down<Stages, chunked>([&]<int I>() {
      backward<I, (I > 0 || InputGradient)>(Slice{0, n, Slice::whole}, dy<I>(0, 0),
                                            I == 0 ? dx_.data() : dy<I - 1>(0, 0), gradient<I>(),
                                            bias_gradient<I>());
    });
    if constexpr (chunked > 0) {
      const int chunks = (n + chunk() - 1) / chunk();
      backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
        T* partial = partials_.data() + std::size_t(chunk) * partial_size_;
        if constexpr (!Backend::whole_batches) backend_.zero(partial, partial_size_);
        each_down<std::min(chunked, Stages), 0>([&]<int I>() {
          T* const into = I > 0 ? dy<I - 1>(s.worker, s.first)
                          : InputGradient
                              ? dx_.data() + std::size_t(s.first) * std::size_t(plan_.input_size())
                              : nullptr;
          backward<I, (I > 0 || InputGradient)>(s, dy<I>(s.worker, s.first), into, partial + partial_at_[I],
                                                nullptr);
        });
      });
      each<0, std::min(chunked, Stages)>([&]<int I>() {
        if constexpr (structure.stage[I].has_parameters())
          backend_.gather(descriptor<I>(), partials_.data() + partial_at_[I], partial_size_, chunks,
                          gradient<I>(), bias_gradient<I>());
      });
      backend_.finish_gather();
    }
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

  static PlanType plan_for([[maybe_unused]] Dims in) {
    if constexpr (Erased)
      return make_plan<Net>(in, layout_of<Backend>);
    else
      return structure;
  }
  /// Stage I's numbers as a value.
  template <int I, class Stage>
  static constexpr auto numbers_of(const Stage& s) {
    constexpr Kind kind = structure.stage[I].kind;
    if constexpr (kind == Kind::contraction)
      return s.contraction;
    else if constexpr (kind == Kind::dense)
      return s.dense;
    else if constexpr (kind == Kind::window)
      return s.window;
    else if constexpr (kind == Kind::pointwise)
      return s.pointwise;
    else
      return s.rows;
  }
  template <int I>
  constexpr auto numbers() const {
    return numbers_of<I>(plan_.stage[I]);
  }
  /// What an erased stage still knows: a fused pool's window, for that decides which registers a tile has,
  /// and what kind of pooling it is.
  template <int I>
  static constexpr auto known_numbers() {
    constexpr auto all = numbers_of<I>(structure.stage[I]);
    if constexpr (!Erased) {
      return all;
    } else {
      auto few = all_dyn<std::remove_const_t<decltype(all)>>();
      if constexpr (structure.stage[I].kind == Kind::contraction)
        few.pool_h = all.pool_h, few.pool_w = all.pool_w;
      if constexpr (structure.stage[I].kind == Kind::window) few.pooling = all.pooling;
      return few;
    }
  }
  template <int I>
  auto descriptor() const {
    return Known<known_numbers<I>()>(numbers<I>());
  }
  /// The pointwise ops of stage I.
  template <int I>
  static constexpr auto chain() {
    constexpr Stage s = structure.stage[I];
    return [=]<int... J>(std::integer_sequence<int, J...>) {
      return std::apply([](auto... op) { return ops::Chain<decltype(op)...>::of(op...); },
                        std::tuple_cat(op_of<s.first + J>()...));
    }(std::make_integer_sequence<int, s.last - s.first>{});
  }
  template <int Layer>
  static constexpr auto op_of() {
    using L = std::tuple_element_t<std::size_t(Layer), nn::flat_layers<Net>>;
    if constexpr (L::lowers_to == nn::Lowering::pointwise) {
      constexpr bool flat =
          Layer == 0 ? structure.input.flat : structure.dims[std::size_t(Layer > 0 ? Layer - 1 : 0)].flat;
      return std::tuple{L::template op<flat>(std::uint32_t(Layer))};
    } else {
      return std::tuple<>{};
    }
  }

  template <int I>
  const T* weight() const {
    return parameters_.data() + plan_.stage[I].weight;
  }
  template <int I>
  Weights<T> weights() const {
    if constexpr (structure.stage[I].has_parameters())
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
      if constexpr (structure.stage[I].has_parameters())
        backend_.prepare_forward(descriptor<I>(), weight<I>(), forward_weights_.data() + forward_at_[I]);
    });
    prepared_forward_ = true;
  }
  template <int I>
  void forward(Slice s, const T* x, T* y, WindowIndex* argmax, Draw draw) {
    backend_.forward(s, descriptor<I>(), ForwardPass<T>{x, weights<I>(), y, argmax}, chain<I>(), draw);
  }
  template <int I, bool DataGradient>
  void backward(Slice s, T* dy, T* dx, T* dw, T* db) {
    const BackwardPass<T> pass{
        x<I>(s.first), weights<I>(), y<I>(s.first), argmax<I>(s.first), dy, dx, dw, db};
    backend_.template backward<DataGradient>(s, descriptor<I>(), pass, chain<I>(), below<I>(), draw_);
  }
  template <int I>
  auto below() const {
    if constexpr (I == 0 || !Backend::takes_back_below)
      return NoBelow{};
    else
      return Below<decltype(descriptor<I - 1>()), decltype(fused_chain<I - 1>())>{descriptor<I - 1>(),
                                                                                  fused_chain<I - 1>()};
  }
  /// The ops that go back from stage I's output alone: a pointwise stage takes dy back itself, from its
  /// input.
  template <int I>
  static constexpr auto fused_chain() {
    if constexpr (structure.stage[I].kind == Kind::pointwise)
      return ops::Chain<>{};
    else
      return chain<I>();
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
    const auto& s = plan_.stage[std::size_t(std::max(I, 0))];  // -1: named, never called
    if constexpr (I + 1 < chunked)
      return inner_dy_.data() + std::size_t(worker) * std::size_t(chunk()) * plan_.inner +
             std::size_t(chunk()) * s.y;
    else
      return dy_.data() + std::size_t(capacity_) * (s.y - plan_.inner) +
             std::size_t(sample) * std::size_t(s.out_size());
  }
  // And in inference: what only the same slice reads is kept a worker.
  template <int I>
  T* inferred(int worker, int sample) {
    const auto& s = plan_.stage[std::size_t(std::max(I, 0))];  // -1: named, never called
    if constexpr (I + 1 < chunked)
      return inner_y_.data() + std::size_t(inner_samples(inference_capacity_)) * s.y +
             std::size_t(worker * inference_chunk()) * std::size_t(s.out_size());
    else
      return outer_y_.data() + std::size_t(inference_capacity_) * (s.y - plan_.inner) +
             std::size_t(sample) * std::size_t(s.out_size());
  }
  int inner_samples(int capacity) const { return inference_chunk(capacity) * backend_.threads(); }

  [[gnu::cold]] void reserve_training(int n) {
    if (n <= capacity_) return;
    const std::size_t count = std::size_t(n);
    if (inner_dy_.size() == 0 || Backend::whole_batches)
      inner_dy_ = backend_.template allocate<T>(std::size_t(backend_.threads()) * std::size_t(chunk(n)) *
                                                plan_.inner);
    x_ = backend_.template allocate<T>(count * std::size_t(plan_.input_size()));
    y_ = backend_.template allocate<T>(count * plan_.activations);
    argmax_ = backend_.template allocate<WindowIndex>(count * plan_.indices);
    dy_ = backend_.template allocate<T>(count * (plan_.activations - plan_.inner));
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
    const std::size_t slots = std::size_t(std::max(inner_samples(n), chunked == 0 ? n : 0));
    inner_x_ = backend_.template allocate<T>(slots * std::size_t(plan_.input_size()));
    inner_y_ = backend_.template allocate<T>(std::size_t(inner_samples(n)) * plan_.inner);
    outer_y_ = backend_.template allocate<T>(std::size_t(n) * (plan_.activations - plan_.inner));
    reserve_scratch(n);
    inference_capacity_ = n;
  }
  void reserve_scratch(int n) {
    std::size_t scratch = 0;
    each<0, stages>([&]<int I>() { scratch = std::max(scratch, Backend::scratch_size(numbers<I>(), n)); });
    backend_.reserve(scratch);
  }

  PlanType plan_;
  Backend backend_;
  Draw draw_{};
  int chunk_ = 4, capacity_ = 0, inference_capacity_ = 0;
  std::size_t forward_size_ = 0, backward_size_ = 0, partial_size_ = 0;
  static constexpr int at_least_one = stages > 0 ? stages : 1;  // a net that does not fit has none
  std::size_t forward_at_[at_least_one]{}, backward_at_[at_least_one]{}, partial_at_[at_least_one]{};
  bool prepared_forward_ = false, prepared_backward_ = false;
  Memory<T> parameters_, gradients_, forward_weights_, backward_weights_, partials_;
  Memory<T> x_, y_, dy_, inner_dy_, dx_;
  Memory<T> inner_x_, inner_y_, outer_y_;
  Memory<WindowIndex> argmax_;
};

}  // namespace kern::graph
