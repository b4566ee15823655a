// What of a net's plans is known from types: the structure of its stages for training and for inference, for
// an erased net, too; their numbers, where they are known, and their chains of ops.
#pragma once
#include <algorithm>
#include <tuple>
#include <utility>

#include "../ops/chain.hpp"
#include "checked.hpp"

namespace kern::graph {

/// f<I>() for all I in [First, Last), from the first or from the last on.
template <int First, int Last, class F>
constexpr void each_stage(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (f.template operator()<First + I>(), ...);
  }(std::make_integer_sequence<int, (Last > First ? Last - First : 0)>{});
}
template <int Last, int First, class F>
constexpr void each_stage_down(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (f.template operator()<Last - 1 - I>(), ...);
  }(std::make_integer_sequence<int, (Last > First ? Last - First : 0)>{});
}

template <class Net, class In, bool Erased, class Backend>
struct Structure {
  /// What is fused and in which order: known for an erased net, too. Its sizes are not, then.
  static constexpr auto training =
      make_plan<Net>(In::is_static ? In::dims : In::any_dims, layout_of<Backend>, In::is_static);
  static constexpr int stages = training.stages, chunked = training.chunked;
  /// The same for inference.
  static constexpr auto inference = make_plan<Net>(In::is_static ? In::dims : In::any_dims,
                                                   layout_of<Backend>, In::is_static, Mode::inference);
  using PlanType = std::remove_const_t<decltype(training)>;

  template <Mode M>
  static PlanType plan_for([[maybe_unused]] Dims in) {
    if constexpr (Erased)
      return make_plan<Net>(in, layout_of<Backend>, true, M);
    else
      return structure_of<M>();
  }
  template <Mode M>
  static constexpr const PlanType& structure_of() {
    return M == Mode::training ? training : inference;
  }
  /// Stage I's numbers in a plan, as a value.
  template <int I, Mode M = Mode::training>
  static constexpr auto numbers(const PlanType& plan) {
    const Stage& s = plan.stage[I];
    constexpr Kind kind = structure_of<M>().stage[I].kind;
    if constexpr (kind == Kind::contraction)
      return s.contraction;
    else if constexpr (kind == Kind::grouped)
      return s.grouped;
    else if constexpr (kind == Kind::lookup)
      return s.lookup;
    else if constexpr (kind == Kind::dense)
      return s.dense;
    else if constexpr (kind == Kind::window)
      return s.window;
    else if constexpr (kind == Kind::pointwise)
      return s.pointwise;
    else if constexpr (kind == Kind::norm)
      return s.norm;
    else if constexpr (kind == Kind::row_norm)
      return s.row_norm;
    else if constexpr (kind == Kind::softmax)
      return s.rows;
    else
      return plan.join(I);
  }
  /// What an erased stage still knows: a fused pool's window, for that decides which registers a tile has,
  /// and what kind of pooling it is.
  template <int I, Mode M>
  static constexpr auto known_numbers() {
    constexpr Stage stage = structure_of<M>().stage[I];
    constexpr auto all = numbers<I, M>(structure_of<M>());
    if constexpr (!Erased) {
      return all;
    } else {
      auto few = all_dyn<std::remove_const_t<decltype(all)>>();
      if constexpr (stage.kind == Kind::contraction) few.pool_h = all.pool_h, few.pool_w = all.pool_w;
      if constexpr (stage.kind == Kind::window) few.pooling = all.pooling;
      if constexpr (stage.kind == Kind::norm) few.each_pixel = all.each_pixel;
      if constexpr (stage.kind == Kind::join) few.joining = all.joining;
      return few;
    }
  }
  /// The same as a backend is told them.
  template <int I, Mode M = Mode::training>
  static auto descriptor(const PlanType& plan) {
    return Known<known_numbers<I, M>()>(numbers<I, M>(plan));
  }
  /// The pointwise ops of stage I, and what adds another output among them, if it does.
  template <int I, Mode M = Mode::training, class... Sum>
  static constexpr auto chain(const Sum&... sum) {
    constexpr Stage s = structure_of<M>().stage[I];
    return [&]<int... J>(std::integer_sequence<int, J...>) {
      return std::apply([](auto... op) { return ops::Chain<decltype(op)...>::of(op...); },
                        std::tuple_cat(op_of<s.first + J>(sum...)...));
    }(std::make_integer_sequence<int, s.last - s.first>{});
  }
  template <int Layer, class... Sum>
  static constexpr auto op_of([[maybe_unused]] const Sum&... sum) {
    using L = std::tuple_element_t<std::size_t(Layer), nn::flat_layers<Net>>;
    if constexpr (L::lowers_to == nn::Lowering::pointwise) {
      constexpr bool flat = training.dims[std::size_t(Layer)].flat;  // as its input
      return std::tuple{L::template op<flat>(std::uint32_t(Layer))};
    } else if constexpr (L::lowers_to == nn::Lowering::join) {
      return std::tuple<Sum...>(sum...);
    } else {
      return std::tuple<>{};
    }
  }

  /// The ops that go back from stage I's output alone: a pointwise stage or a norm takes dy back itself, from
  /// its input.
  template <int I>
  static constexpr auto fused_chain() {
    if constexpr (training.stage[I].kind == Kind::pointwise || training.stage[I].kind == Kind::norm)
      return ops::Chain<>{};
    else
      return chain<I>();
  }

  /// Input number `input` of stage i: see Plan.
  static constexpr int source(int i, int input) { return training.source(i, input); }
  static constexpr bool reads_last(int i, int input) { return training.reads_last(i, input); }
  /// Some output, or the net's input, is read more than once.
  static constexpr bool branched = [] {
    for (int i = 0; i < stages; ++i)
      for (const int which : {0, 1})
        if (source(i, which) != nn::Reads::none && !reads_last(i, which)) return true;
    return false;
  }();

  // Norms.
  static constexpr bool is_norm(int stage) {
    return stage < stages && training.stage[std::size_t(stage)].kind == Kind::norm;
  }
  /// Groups of the stages before `chunked`: each but the first begins with a norm.
  static constexpr int groups = [] {
    int n = 1;
    for (int i = 0; i < chunked; ++i) n += is_norm(i);
    return n;
  }();
  /// The first stage of a group; of the one behind the last: `chunked`.
  static constexpr int group_first(int group) {
    int i = 0;
    if (group == 0) return 0;
    for (; i < chunked; ++i)
      if (is_norm(i) && --group == 0) return i;
    return chunked;
  }
  /// All stages that read the net's input read samples as they come; else the backend's load() stores them.
  template <Mode M>
  static constexpr bool reads_samples = []<int... I>(std::integer_sequence<int, I...>) {
    return ((!structure_of<M>().reads_input(I) ||
             backend_reads_samples<Backend, decltype(numbers<I, M>(structure_of<M>()))>) &&
            ...);
  }(std::make_integer_sequence<int, structure_of<M>().stages>{});
  /// How they see them.
  static constexpr Entry known_entry = Erased ? all_dyn<Entry>() : training.entry();

  static constexpr bool normalises = training.buffers > 0;

  // Inference.
  /// Inference stage I's stage in training.
  static constexpr int trained_as(int i) {
    int t = 0;
    while (training.stage[std::size_t(t)].anchor != inference.stage[std::size_t(i)].anchor ||
           training.stage[std::size_t(t)].kind != inference.stage[std::size_t(i)].kind)
      ++t;
    return t;
  }
  /// Its weights are not those of training, or in another form: a norm is folded, or it takes along more.
  static constexpr bool has_own_weights(int i) {
    const Stage& s = inference.stage[std::size_t(i)];
    if (s.kind == Kind::contraction) {
      Contraction here = s.contraction, there = training.stage[std::size_t(trained_as(i))].contraction;
      here.border_h = there.border_h, here.border_w = there.border_w;
      if (stage::fields(here) != stage::fields(there)) return true;
    }
    return s.folded >= 0;
  }
};

}  // namespace kern::graph
