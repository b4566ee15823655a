#pragma once
#include <string>
#include <vector>

namespace kern {

/// Parameters with options of their own: all of a layer ("fc1"), of the layers in a named net ("encoder"), or
/// a single one ("fc1.bias"). The options are whole: none is inherited from others.
template <class Optimizer>
struct ParameterGroup {
  std::string name;
  Optimizer options;
};

/// An optimizer for a Trainer, with other options for some parameters:
///   Grouped<Sgd>{{.lr = 0.1}, {{"fc1", {.lr = 0.01}}, {"fc2.bias", {.lr = 0.2}}}}
/// The trainer throws ArgumentError for a name without parameters, or where two groups have the same ones.
template <class Optimizer>
struct Grouped {
  Optimizer rest;  ///< for parameters that are in no group
  std::vector<ParameterGroup<Optimizer>> groups;

  void check() const {
    rest.check();
    for (const auto& g : groups) g.options.check();
  }
};

namespace detail {
// The options of an optimizer: one set, or, Grouped, the rest's (0) and each group's.
template <class Optimizer>
struct Options {
  using type = Optimizer;
};
template <class Optimizer>
struct Options<Grouped<Optimizer>> {
  using type = Optimizer;
};
template <class Optimizer>
int count_options(const Optimizer&) {
  return 1;
}
template <class Optimizer>
int count_options(const Grouped<Optimizer>& o) {
  return 1 + int(o.groups.size());
}
template <class Optimizer>
auto& options_of(Optimizer& o, int) {
  return o;
}
template <class Optimizer>
auto& options_of(Grouped<Optimizer>& o, int i) {
  return i == 0 ? o.rest : o.groups[std::size_t(i - 1)].options;
}
template <class Optimizer>
auto& options_of(const Grouped<Optimizer>& o, int i) {
  return i == 0 ? o.rest : o.groups[std::size_t(i - 1)].options;
}
}  // namespace detail

}  // namespace kern
