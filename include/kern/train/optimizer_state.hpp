// An optimizer at work on a model's parameters.
//
// An optimizer is a struct of options with check(), which throws ArgumentError, and
//   states        what it may remember of each parameter, by PyTorch's names
//   keeps(i)      whether it does remember states[i], with these options
//   op<T>(steps)  its formula (ops/) with a step's numbers, after so many steps that kept states[0]
//   name, state() for checkpoints (io/checkpoint.hpp)
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../graph/parameters.hpp"
#include "parameter_groups.hpp"

namespace kern {

namespace detail {

/// Elements [first, last) of the flat buffers, for which the options have this number.
struct Part {
  int options;
  std::size_t first, last;
};

template <class Model, class Optimizer>
std::vector<Part> parts_of(const Model& model, const Optimizer&) {
  return {{0, 0, model.plan().stored}};
}
template <class Model, class Optimizer>
[[gnu::cold]] std::vector<Part> parts_of(const Model& model, const Grouped<Optimizer>& o) {
  std::vector<Part> parts;
  std::vector<bool> found(o.groups.size());
  for (const std::string& name : Model::parameter_names()) {
    int options = 0;
    for (std::size_t i = 0; i < o.groups.size(); ++i) {
      const std::string& group = o.groups[i].name;
      if (name != group && !name.starts_with(group + ".")) continue;
      if (options > 0)
        throw ArgumentError(text("parameter ", name, " is in two groups: \"",
                                 o.groups[std::size_t(options - 1)].name, "\" and \"", group, "\""));
      options = int(i + 1);
      found[i] = true;
    }
    const auto [first, last] = model.stored(name);
    if (!parts.empty() && parts.back().options == options && parts.back().last == first)
      parts.back().last = last;
    else
      parts.push_back({options, first, last});
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i])
      throw ArgumentError(text("no parameter is in the group \"", o.groups[i].name,
                               "\"; there are: ", graph::parameter_list<typename Model::Net>()));
  return parts;
}

}  // namespace detail

/// The word of a compile error, never defined: a Trainer's third argument is an optimizer, as Sgd{.lr = 0.1}.
template <class Got>
struct not_an_optimizer;
namespace detail {
template <class O>
concept IsOptimizer = requires {
  O::states;
  O::name;
};
}  // namespace detail

/// What an optimizer remembers from step to step.
template <class Optimizer, class Memory>
struct OptimizerState {
  using Options = typename detail::Options<Optimizer>::type;
  using T = typename Memory::Element;
  static_assert(sizeof(std::conditional_t<detail::IsOptimizer<Options>, char, not_an_optimizer<Options>>));

  template <class Model>
  OptimizerState(const Model& model, const Optimizer& o)
      : steps(std::size_t(detail::count_options(o))), parts(detail::parts_of(model, o)) {}

  std::array<Memory, Options::states.size()> buffers;  ///< laid out as the parameters; empty: not in use
  std::vector<std::int64_t> steps;  ///< for each set of options: steps done that kept the first state
  std::vector<detail::Part> parts;

  /// f(name, buffer) for each state in use: f("exp_avg", ...).
  template <class F>
  void each(F&& f) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].size() > 0) f(std::string_view(Options::states[i]), buffers[i]);
  }

  /// For checkpoints: the options `o`, too.
  template <class Visitor, class Model>
  void state(Visitor& v, Model& model, Optimizer& o) {
    v.fixed("optimizer", Options::name);
    for (int i = 0; i < int(steps.size()); ++i)
      v.within(text("optimizer.param_groups.", i, "."), [&] {
        detail::options_of(o, i).state(v);
        if constexpr (!std::is_same_v<Optimizer, Options>)
          if (i > 0) v.fixed("name", o.groups[std::size_t(i - 1)].name);
      });
    v.count("optimizer.steps", steps);
    for (std::size_t s = 0; s < buffers.size(); ++s) {
      const std::string name = text("optimizer.state.", Options::states[s]);
      const bool kept = v.value(name, buffers[s].size() > 0, [this, &model, s](bool in_file) {
        if (in_file) return;  // else it is as if there were none: zeros
        const std::size_t n = buffers[s].size();
        if (n > 0)
          model.executor().backend().edit(buffers[s].data(), n, [n](T* p) { std::fill_n(p, n, T{}); });
      });
      if (kept) model.state(v, name + ".", buffers[s]);
    }
  }

  // A step is prepare(), update() and done(), if what comes between does not fail.

  /// Before anything is computed: memory, and this step's numbers. The backend's updates from `number` on.
  template <class Backend, class Clip>
  void prepare(Backend& backend, const Optimizer& o, const Clip& clip, int number, std::size_t size) {
    for (int i = 0; i < int(steps.size()); ++i) {
      const Options& options = detail::options_of(o, i);
      for (std::size_t s = 0; s < buffers.size(); ++s)
        if (buffers[s].size() == 0 && options.keeps(int(s))) buffers[s] = backend.template allocate<T>(size);
    }
    for (int i = 0; i < int(steps.size()); ++i) backend.set_update(number + i, op(o, clip, i));
  }
  /// Updates the parameters w in place.
  template <class Backend, class Clip>
  void update(Backend& backend, const Optimizer& o, const Clip& clip, int number, T* w, const T* g) {
    for (const detail::Part& p : parts)
      [&]<std::size_t... S>(std::index_sequence<S...>) {
        backend.update(number + p.options, p.last - p.first, op(o, clip, p.options), w + p.first, g + p.first,
                       (buffers[S].size() > 0 ? buffers[S].data() + p.first : nullptr)...);
      }(std::make_index_sequence<Options::states.size()>{});
  }
  void done(const Optimizer& o) {
    for (int i = 0; i < int(steps.size()); ++i) steps[std::size_t(i)] += detail::options_of(o, i).keeps(0);
  }

 private:
  template <class Clip>
  auto op(const Optimizer& o, const Clip& clip, int i) const {
    return clip.template op<T>(detail::options_of(o, i).template op<T>(steps[std::size_t(i)]));
  }
};

}  // namespace kern
