// The one executor of a plan: it knows the order of things; the backend does the work. Where things lie is
// told in stage_memory.hpp and parameter_memory.hpp.
//
// Forward, the stages before the first dense one run depth-first: a few samples go through all of them while
// their activations are in the cache. From the first dense stage on, each runs over the whole batch. Backward
// is the mirror image; each chunk of samples sums its own gradients, and the chunks are added in order, so
// that the bits depend neither on the number of threads nor on who ran what.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "../ops/add_output.hpp"
#include "../ops/batch_norm.hpp"
#include "../ops/chain.hpp"
#include "at_work.hpp"
#include "parameter_memory.hpp"
#include "stage_memory.hpp"

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

  /// Throws ShapeError if a sample of such extents does not fit the net.
  template <class Device>
  [[gnu::cold]] Executor(Dims in, const Device& device)
      : plan_(fitting(S::template plan_for<Mode::training>(in))),
        inference_(S::template plan_for<Mode::inference>(in)),
        backend_(device),
        parameters_(plan_, inference_, backend_),
        training_memory_(plan_, backend_),
        inference_memory_(inference_, backend_) {
    reserve_scratch(1);
  }
  Executor(const Executor&) = delete;  // its parts point to each other
  Executor& operator=(const Executor&) = delete;

  const PlanType& plan() const { return plan_; }
  Backend& backend() { return backend_; }
  const Backend& backend() const { return backend_; }
  /// Samples that share one sum of gradients.
  int chunk() const { return training_memory_.chunk(); }

  /// All parameters as stored; whoever changes them calls parameters_changed().
  Memory<T>& parameters() { return parameters_.parameters(); }
  const Memory<T>& parameters() const { return parameters_.parameters(); }
  void parameters_changed() { parameters_.changed(); }
  /// f(elements) changes [first, last) of them in this program's memory.
  template <class F>
  void edit_parameters(std::size_t first, std::size_t last, F&& f) {
    backend_.edit(parameters().data() + first, last - first, f);
    parameters_changed();
  }
  /// What norms keep beside the parameters, and whoever changes that calls parameters_changed().
  Memory<T>& buffers() { return parameters_.buffers(); }
  template <class F>
  void edit_buffers(F&& f) {
    backend_.edit(buffers().data(), plan_.buffers, f);
    parameters_changed();
  }
  const T* buffers_on_host() const { return backend_.to_host(parameters_.buffers().data(), plan_.buffers); }
  /// Their gradients after backward(), laid out alike; none before.
  Memory<T>& gradients() { return parameters_.gradients(); }
  const Memory<T>& gradients() const { return parameters_.gradients(); }
  bool has_gradients() const { return parameters_.gradients().size() > 0; }

  /// Throws DataError where a net that begins with an embedding gets what is no index of it.
  [[gnu::cold]] void require_indices([[maybe_unused]] const T* samples, [[maybe_unused]] int n) const {
    if constexpr (looks_up(0)) {
      const Lookup d = plan_.stage[0].lookup;
      for (int s = 0; s < n; ++s)
        for (int p = 0; p < d.positions; ++p) {
          const T v = samples[std::ptrdiff_t(s) * d.positions + p];
          if (!(v >= 0 && v < T(d.rows) && v == std::floor(v)))
            throw DataError(text("index at position ", p, " of sample ", s,
                                 " in the batch: expected a whole number from 0 to ", d.rows - 1,
                                 " (num_embeddings ", d.rows, "), got ", v));
        }
    }
  }

  /// Held by who runs stages and reads their outputs.
  [[nodiscard]] AtWork at_work() { return AtWork(busy_); }

  // Samples: a pointer to them in PyTorch's layout, or what else the backend can load.

  /// Runs n samples through all stages, dropout off. -> the outputs, as stored.
  template <class Samples>
  [[gnu::noinline]] const T* infer(Samples samples, int n) {
    constexpr int all = S::inference.stages, alone = S::inference.chunked;
    auto& memory = inference_memory_;
    if (memory.reserve(n)) reserve_scratch(n), memory.reserved(n);
    parameters_.prepare_inference();
    const Slice whole{0, n, Slice::whole};
    const int threads = backend_.threads();
    if constexpr (S::template reads_samples<Mode::inference>) {
      backend_.take(plan_.entry(), samples, n);
      each_stage<0, alone>([&]<int I>() { infer<I>(whole, 0); });
    } else if (n < 2 * threads && threads > 1) {  // too few for one a worker: the backend splits each stage
      backend_.load(plan_.entry(), samples, memory.input(0, 0), n);
      each_stage<0, alone>([&]<int I>() { infer<I>(whole, 0); });
    } else {
      backend_.chunks(n, memory.chunk(), [&](Slice s, int) {
        backend_.load(plan_.entry(), from(samples, s.first), memory.input(s.worker, s.first), s.count());
        each_stage<0, alone>([&]<int I>() { infer<I>(s, s.worker); });
      });
    }
    each_stage<alone, all>([&]<int I>() { infer<I>(whole, 0); });
    if constexpr (S::template reads_samples<Mode::inference>) backend_.done_reading();
    return memory.y(all - 1, 0, 0);
  }

  /// Runs n samples through the first Stages stages, keeping what backward() needs. -> their outputs, as
  /// stored.
  template <int Stages = stages>
  const T* forward(const T* samples, int n, ops::Draw draw) {
    begin(samples, n, draw);
    return run<Stages>(samples, n);
  }
  /// The two parts of forward(): what may allocate and copy, and the stages.
  template <class Samples>
  [[gnu::noinline]] void begin(Samples samples, int n, ops::Draw draw) {
    if constexpr (S::normalises) require_variance(n), parameters_.statistics_change();
    reserve_training(n);
    parameters_.prepare_forward();
    draw_ = draw;
    if constexpr (reads_samples) backend_.take(plan_.entry(), samples, n);
    backend_.begin(draw);
    if constexpr (Backend::whole_batches && !reads_samples)
      backend_.load(plan_.entry(), samples, training_memory_.input(0), n);
  }
  template <int Stages = stages, class Samples>
  [[gnu::noinline]] const T* run([[maybe_unused]] Samples samples, int n) {
    // Groups of stages that a few samples run through: before a norm all samples must have come so far.
    constexpr int most = std::min(chunked, Stages);
    each_stage<0, S::groups>([&]<int G>() {
      constexpr int first = S::group_first(G), last = std::min(S::group_first(G + 1), most);
      if constexpr (first <= most && (G == 0 || first < most))
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
          if constexpr (G == 0 && !Backend::whole_batches)
            backend_.load(plan_.entry(), from(samples, s.first), training_memory_.input(s.first), s.count());
          each_stage<first, last>([&]<int I>() { forward<I>(s); });
          if constexpr (S::is_norm(last) && last < most) measure<last>(s, chunk);
        });
      if constexpr (S::is_norm(last) && last < most) finish_measure<last>(n);
    });
    each_stage<chunked, Stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) { measure<I>(s, chunk); });
        finish_measure<I>(n);
      }
      forward<I>(Slice{0, n, Slice::whole});
    });
    return y<Stages - 1>(0);
  }
  /// Where dL/d(output of forward<Stages>()) goes before backward<Stages>(), laid out as the output; padding
  /// 0.
  template <int Stages = stages>
  T* output_gradient() {
    static_assert(Stages >= chunked, "what only a few samples share can't hold a batch's gradient");
    return training_memory_.dy(Stages - 1, 0, 0);
  }
  /// The gradients of all parameters, after forward<Stages>() of n samples; with InputGradient also
  /// dL/d(samples).
  template <int Stages = stages, bool InputGradient = false>
  [[gnu::noinline]] void backward(int n) {
    auto& memory = training_memory_;
    parameters_.prepare_backward();
    if constexpr (InputGradient) memory.reserve_input_gradient();
    const Slice whole{0, n, Slice::whole};
    if constexpr (Backend::takes_back_below)
      backend_.undo(whole, descriptor<Stages - 1>(), y<Stages - 1>(0), memory.dy(Stages - 1, 0, 0),
                    S::template fused_chain<Stages - 1>(), draw_);
    each_stage_down<Stages, chunked>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) { sums<I>(s, chunk); });
        finish_sums<I>(n);
        norm_backward<I, InputGradient>(whole);
      } else if constexpr (structure.stage[I].gradient_in_parts()) {
        backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
          T* const part = memory.partials(chunk) + memory.partial_at(I);
          if constexpr (!Backend::whole_batches) backend_.zero(part, Backend::partial_size(numbers<I>()));
          backward<I, InputGradient>(s, part, nullptr);
        });
      } else {
        backward<I, InputGradient>(whole, parameters_.template gradient<I>(),
                                   parameters_.template bias_gradient<I>());
      }
    });
    if constexpr (chunked > 0) {
      constexpr int most = std::min(chunked, Stages);
      each_stage_down<S::groups, 0>([&]<int G>() {
        constexpr int first = S::group_first(G), last = std::min(S::group_first(G + 1), most);
        constexpr bool sums_first = G > 0;  // then it begins with a norm
        if constexpr (first < most || G == 0)
          backend_.chunks(n, chunk(), [&](Slice s, int chunk) {
            T* partial = memory.partials(chunk);
            if constexpr (!Backend::whole_batches)
              if (last == most) backend_.zero(partial, memory.chunked_partial_size());
            if constexpr (last < most) norm_backward<last, InputGradient>(s);
            each_stage_down<last, first + sums_first + looks_up(first)>(
                [&]<int I>() { backward<I, InputGradient>(s, partial + memory.partial_at(I), nullptr); });
            if constexpr (sums_first) sums<first>(s, chunk);
          });
        if constexpr (sums_first && first < most) finish_sums<first>(n);
      });
    }
    if constexpr (looks_up(0)) backward<0, false>(whole, parameters_.template gradient<0>(), nullptr);
    const int chunks = (n + chunk() - 1) / chunk();
    each_stage<0, Stages>([&]<int I>() {
      if constexpr (structure.stage[I].gradient_in_parts())
        backend_.gather(descriptor<I>(), memory.partials(0) + memory.partial_at(I), memory.partial_size(),
                        chunks, parameters_.template gradient<I>(), parameters_.template bias_gradient<I>());
    });
    backend_.finish_gather();
  }
  /// Running statistics, from those of the last forward() of n samples.
  template <int Stages = stages>
  void track(int n) {
    each_stage<0, Stages>([&]<int I>() {
      if constexpr (S::is_norm(I)) {
        const Norm d = numbers<I>();
        T* const running = buffers().data() + plan_.stage[I].buffers;
        backend_.each_if_finite(
            d.features(),
            ops::TrackNorm<T>{parameters_.template norm_state<I>(), plan_.stage[I].rates.momentum,
                              double(n) * d.positions(), running, running + d.features()});
      }
    });
  }
  /// dL/d(samples) after backward<Stages, true>(), in PyTorch's layout.
  void input_gradient(int n, T* out) const {
    const Entry e = plan_.entry();
    const T* dx =
        backend_.to_host(training_memory_.input_gradient(), std::size_t(n) * std::size_t(e.stored_size()));
    for (int s = 0; s < n; ++s, dx += e.stored_size(), out += e.size())
      for (int c = 0; c < e.c; ++c)
        for (int h = 0; h < e.h; ++h)
          for (int w = 0; w < e.w; ++w)
            out[(c * e.h + h) * e.w + w] = dx[e.origin() + h * e.pitch() + w * e.cols + c];
  }

  /// The first stage of the last forward<Stages>() of n samples with an output that is not finite, or -1.
  template <int Stages = stages>
  int first_not_finite(int n) {
    for (int i = 0; i < Stages; ++i) {
      const std::size_t size = std::size_t(n) * std::size_t(plan_.stage[std::size_t(i)].out_size());
      const T* const out = backend_.to_host(training_memory_.y(i, 0), size);
      if (!std::all_of(out, out + size, [](T v) { return std::isfinite(v); })) return i;
    }
    return -1;
  }

 private:
  static constexpr bool reads_samples = S::template reads_samples<Mode::training>;
  /// Samples `first` and on; a backend that takes whole batches is asked for 0 alone.
  template <class Samples>
  Samples from(const Samples& samples, [[maybe_unused]] int first) const {
    if constexpr (Backend::whole_batches)
      return samples;
    else
      return samples + std::size_t(first) * std::size_t(plan_.input.size());
  }
  /// The net's input, for stages that read the samples that the backend took.
  auto taken(bool training) const { return backend_.input(Known<S::known_entry>(plan_.entry()), training); }

  static constexpr bool looks_up(int stage) {
    return stage < stages && structure.stage[std::size_t(stage)].kind == Kind::lookup;
  }
  template <int I>
  constexpr auto numbers() const {
    return S::template numbers<I>(plan_);
  }
  template <int I>
  auto descriptor() const {
    return S::template descriptor<I>(plan_);
  }

  // A stage, for a slice of the batch.
  template <int I>
  void infer(Slice s, int worker) {
    auto& memory = inference_memory_;
    constexpr nn::Reads from = S::inference.stage[I].reads;
    ForwardPass<T, decltype(inference_x<I>(s, worker))> pass{inference_x<I>(s, worker),
                                                             parameters_.template inference_weights<I>(),
                                                             memory.y(I, worker, s.first), nullptr};
    const auto run = [&](const auto&... sum) {
      backend_.forward(s, S::template descriptor<I, Mode::inference>(inference_), pass,
                       S::template chain<I, Mode::inference>(sum...), ops::Draw{});
    };
    if constexpr (from.second == nn::Reads::none) {
      run();
    } else if constexpr (S::inference.stage[I].kind == Kind::join) {
      pass.other = memory.value(from.second, worker, s.first);
      run();
    } else {
      run(ops::AddOutput<T>{memory.value(from.second, worker, s.first), inference_.image(from.second),
                            s.first});
    }
  }
  template <int I>
  void forward(Slice s) {
    ForwardPass<T, decltype(x<I>(0))> pass{x<I>(s.first), parameters_.template weights<I>(), y<I>(s.first),
                                           training_memory_.argmax(I, s.first)};
    if constexpr (structure.stage[I].kind == Kind::join) pass.other = x<I, 1>(s.first);
    backend_.forward(s, descriptor<I>(), pass, S::template chain<I>(), draw_);
  }
  template <int I, bool InputGradient>
  void backward(Slice s, T* dw, T* db) {
    if constexpr (structure.stage[I].kind == Kind::join) {
      join_backward<I, InputGradient>(s);
    } else {
      const BackwardPass<T, decltype(x<I>(0))> pass{x<I>(s.first),
                                                    parameters_.template weights<I>(),
                                                    y<I>(s.first),
                                                    training_memory_.argmax(I, s.first),
                                                    training_memory_.dy(I, s.worker, s.first),
                                                    dx<I, InputGradient>(s),
                                                    dw,
                                                    db};
      backend_.template backward<has_dx<I, InputGradient>>(s, descriptor<I>(), pass, S::template chain<I>(),
                                                           below<I>(), draw_);
      add_dx<I, InputGradient>(s);
    }
  }
  template <int I, bool InputGradient>
  void join_backward(Slice s) {
    T* const dy = training_memory_.dy(I, s.worker, s.first);
    if constexpr (!Backend::takes_back_below)
      backend_.undo(s, descriptor<I>(), y<I>(s.first), dy, S::template chain<I>(), draw_);
    each_stage_down<2, 0>([&]<int Which>() {
      if constexpr (has_dx<I, InputGradient, Which>) {
        backend_.template join_backward<Which>(s, descriptor<I>(), x<I, Which>(s.first), dy,
                                               dx<I, InputGradient, Which>(s), below<I, Which>(), draw_);
        add_dx<I, InputGradient, Which>(s);
      }
    });
  }
  template <int I, int Which = 0>
  auto below() const {
    constexpr int from = S::source(I, Which);
    if constexpr (from < 0 || !Backend::takes_back_below)
      return NoBelow{};
    else
      return Below<decltype(descriptor<from>()), decltype(S::template fused_chain<from>())>{
          descriptor<from>(), S::template fused_chain<from>()};
  }

  // Norms.
  template <int I>
  ops::NormParts<T> norm_parts(int n) {
    const Norm d = numbers<I>();
    return {training_memory_.norm_parts(), d.features(), d.positions(), n, Backend::norm_chunk(n, chunk())};
  }
  /// Throws ArgumentError where a norm would have one value a feature, as PyTorch does.
  [[gnu::cold]] void require_variance(int n) const {
    each_stage<0, stages>([&]<int I>() {
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
    backend_.norm_measure(s, descriptor<I>(), x<I>(s.first), training_memory_.norm_parts(), chunk);
  }
  template <int I>
  void finish_measure(int n) {
    const Stage& s = plan_.stage[I];
    const int features = numbers<I>().features();
    backend_.each(features,
                  ops::MeasureNorm<T>{norm_parts<I>(n), parameters_.norm_scale(s, s.weight, features),
                                      parameters_.template norm_state<I>()});
  }
  template <int I>
  void sums(Slice s, int chunk) {
    backend_.norm_sums(s, descriptor<I>(), x<I>(s.first), parameters_.template norm_state<I>(),
                       training_memory_.dy(I, s.worker, s.first), training_memory_.norm_parts(), chunk,
                       S::template chain<I>(), draw_);
  }
  template <int I>
  void finish_sums(int n) {
    constexpr bool affine = structure.stage[I].affine;
    backend_.each(numbers<I>().features(),
                  ops::NormGradient<T>{norm_parts<I>(n), parameters_.template norm_state<I>(),
                                       affine ? parameters_.template gradient<I>() : nullptr,
                                       affine ? parameters_.template bias_gradient<I>() : nullptr});
  }
  template <int I, bool InputGradient>
  void norm_backward(Slice s) {
    if constexpr (has_dx<I, InputGradient>) {
      backend_.norm_backward(s, descriptor<I>(), x<I>(s.first), parameters_.template norm_state<I>(),
                             training_memory_.dy(I, s.worker, s.first), dx<I, InputGradient>(s), below<I>(),
                             draw_);
      add_dx<I, InputGradient>(s);
    }
  }

  // What a stage reads and writes, from a sample on.
  template <int I, int Which = 0>
  auto x([[maybe_unused]] int sample) {
    if constexpr (reads_samples && S::source(I, Which) < 0)
      return taken(true);
    else
      return static_cast<const T*>(training_memory_.value(S::source(I, Which), sample));
  }
  /// In inference.
  template <int I>
  auto inference_x([[maybe_unused]] Slice s, [[maybe_unused]] int worker) {
    constexpr int from = S::inference.stage[I].reads.first;
    if constexpr (S::template reads_samples<Mode::inference> && from < 0)
      return taken(false);
    else
      return static_cast<const T*>(inference_memory_.value(from, worker, s.first));
  }
  template <int I>
  T* y(int sample) {
    return training_memory_.y(I, sample);
  }
  template <int I, bool InputGradient, int Which = 0>
  static constexpr bool has_dx = S::source(I, Which) >= 0 || InputGradient;
  /// Where it goes; null where nobody asks for it. Of those that read one output the last writes its
  /// gradient, and what the others have is added: add_dx().
  template <int I, bool InputGradient, int Which = 0>
  T* dx(Slice s) {
    if constexpr (!has_dx<I, InputGradient, Which>)
      return nullptr;
    else if constexpr (S::reads_last(I, Which))
      return training_memory_.gradient(S::source(I, Which), s);
    else
      return training_memory_.more_gradient(s);
  }
  template <int I, bool InputGradient, int Which = 0>
  void add_dx(Slice s) {
    constexpr int from = S::source(I, Which);
    if constexpr (has_dx<I, InputGradient, Which> && !S::reads_last(I, Which))
      backend_.add(s, plan_.image(from), training_memory_.more_gradient(s),
                   training_memory_.gradient(from, s));
  }

  /// Before any memory is laid out by it.
  static const PlanType& fitting(const PlanType& plan) {
    if constexpr (!In::is_static) require_fit(plan, nn::layer_paths<Net>, nn::layer_reads<Net>);
    return plan;
  }
  [[gnu::cold]] void reserve_training(int n) {
    if (!training_memory_.reserve(n)) return;
    reserve_scratch(n);
    parameters_.reserve_training();
    training_memory_.reserved(n);
  }
  void reserve_scratch(int n) { backend_.reserve(scratch_size<S, Backend>(plan_, n)); }

  PlanType plan_, inference_;
  Backend backend_;
  ParameterMemory<S, Backend, T> parameters_;
  TrainingMemory<S, Backend, T> training_memory_;
  InferenceMemory<S, Backend, T> inference_memory_;
  ops::Draw draw_{};
  std::atomic<bool> busy_{false};
};

}  // namespace kern::graph
