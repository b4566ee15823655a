// What a backend launches for one training step, in order: for explain, and for whoever measures.
#pragma once
#include <string>
#include <vector>

#include "checked.hpp"

namespace kern::graph {

/// Which part of a step a launch is of.
enum class Part { load, forward, loss, undo, backward, gather, update };

constexpr const char* part_text(Part p) {
  constexpr const char* text[] = {"load", "forward", "loss", "undo", "backward", "gather", "update"};
  return text[int(p)];
}

/// A backend that says what it launches (Backend::Costs), for Net on In.
template <class Net, class In, class Backend>
class Launches {
  static constexpr auto& p_ = plan<Net, In, Backend>;
  using Costs = typename Backend::Costs;

 public:
  struct Launch {
    Part part;
    int stage;  ///< -1: of none
    typename Costs::Launch work;
    double flops;  ///< 2 a multiply-add of the plain definition
  };

  /// Whether those kernels that read the net's input read samples as they come, floats or a data set's bytes.
  static bool reads_samples() {
    bool all = true;
    for (int i = 0; i < p_.stages; ++i)
      if (p_.reads_input(i))
        with_numbers(i, [&]<class D>(const D&) { all = all && backend_reads_samples<Backend, D>; });
    return all;
  }
  /// A step on n samples from the host with CrossEntropyLoss and an optimizer that keeps one number a
  /// parameter.
  static std::vector<Launch> step(int n) {
    constexpr int trained = p_.trained(true);
    std::vector<Launch> all;
    const auto add = [&](Part part, int stage, const typename Costs::Works& works) {
      const double flops = stage < 0 ? 0 : 2. * n * double(p_.stage[std::size_t(stage)].multiply_adds());
      for (const auto& w : works) all.push_back({part, stage, w, flops * w.products});
    };
    if (!reads_samples()) add(Part::load, -1, Costs::load(p_.entry(), n));
    for (int i = 0; i < trained; ++i) {
      const Stage& s = p_.stage[std::size_t(i)];
      with_numbers(i, [&]<class D>(const D& d) {
        if constexpr (backend_reads_samples<Backend, D>)
          add(Part::forward, i, Costs::forward(d, s.has_bias, s.indexed, n, given(i)));
        else
          add(Part::forward, i, Costs::forward(d, s.has_bias, s.indexed, n));
      });
    }
    add(Part::loss, -1, Costs::loss(p_.stage[trained - 1].out_size(), n));
    if (has_ops(trained - 1))
      add(Part::undo, trained - 1,
          Costs::undo(p_.stage[trained - 1].out_size(), reads_output(trained - 1), n));
    std::vector<typename Costs::Gathered> gathered;
    for (int i = trained - 1; i >= 0; --i) {
      const Stage& s = p_.stage[std::size_t(i)];
      for (int input = s.kind == Kind::join; input >= 0; --input) {
        const int from = p_.source(i, input);
        typename Costs::Under under{};
        if (from >= 0)
          with_numbers(from, [&](const auto& d) { under = Costs::under(d, reads_output(from)); });
        if (s.kind != Kind::join)
          with_numbers(i, [&]<class D>(const D& d) {
            if constexpr (backend_reads_samples<Backend, D>)
              add(Part::backward, i, Costs::backward(d, s.has_bias, from >= 0, under, n, given(i)));
            else if constexpr (!std::is_same_v<D, Join>)
              add(Part::backward, i, Costs::backward(d, s.has_bias, from >= 0, under, n));
          });
        else if (from >= 0)
          add(Part::backward, i, Costs::backward(p_.join(i), input, under, n));
        if (from >= 0 && !p_.reads_last(i, input)) add(Part::backward, i, Costs::add(p_.image(from), n));
      }
      if (s.gradient_in_parts())
        with_numbers(i, [&](const auto& d) { gathered.insert(gathered.begin(), Costs::gathered(d)); });
    }
    add(Part::gather, -1, Costs::gather(gathered));
    for (int i = 0; i < trained; ++i)
      if (p_.stage[std::size_t(i)].kind == Kind::norm)
        add(Part::update, i, Costs::track(p_.stage[std::size_t(i)].norm));
    add(Part::update, -1, Costs::update(p_.stored));
    return all;
  }

 private:
  /// What stage i is given, if that is samples as they come.
  static typename Costs::Given given(int i) {
    if (p_.source(i, 0) >= 0 || !reads_samples()) return {};
    return {{p_.entry().border_h, p_.entry().border_w}, p_.entry().c};
  }
  template <class F>
  static void with_numbers(int stage, F f) {
    const Stage& s = p_.stage[std::size_t(stage)];
    switch (s.kind) {
      case Kind::contraction:
        return f(s.contraction);
      case Kind::grouped:
        return f(s.grouped);
      case Kind::lookup:
        return f(s.lookup);
      case Kind::dense:
        return f(s.dense);
      case Kind::window:
        return f(s.window);
      case Kind::pointwise:
        return f(s.pointwise);
      case Kind::norm:
        return f(s.norm);
      case Kind::row_norm:
        return f(s.row_norm);
      case Kind::softmax:
        return f(s.rows);
      case Kind::join:
        return f(p_.join(stage));
    }
  }
  static bool any_op(int stage, bool (*is)(const LayerTraits&)) {
    const Stage& s = p_.stage[std::size_t(stage)];
    if (s.kind == Kind::pointwise || s.kind == Kind::norm) return false;
    for (int l = s.first; l < s.last; ++l) {
      const LayerTraits& t = detail::Traits<nn::flat_layers<Net>>::value[std::size_t(l)];
      if (t.lowers_to == nn::Lowering::pointwise && is(t)) return true;
    }
    return false;
  }
  /// Ops that the stage above takes back; whether these look at the stage's output.
  static bool has_ops(int stage) {
    return any_op(stage, [](const LayerTraits&) { return true; });
  }
  static bool reads_output(int stage) {
    return any_op(stage, [](const LayerTraits& t) { return t.needs != ops::Needs::nothing; });
  }
};

}  // namespace kern::graph
