// Layers one after another, and names for them.
#pragma once
#include <tuple>
#include <utility>

#include "../core/fixed_string.hpp"
#include "layer.hpp"

namespace kern::nn {

/// The words of a compile error, never defined: layer_lacks<Square, layer_part::op>. See nn/layer.hpp.
template <class Layer, class Part>
struct layer_lacks;
namespace layer_part {
struct lowers_to;
struct parameters;
struct rule;
struct repr;
struct op;
}  // namespace layer_part

/// Layers applied left to right; a Sequential may stand in a Sequential.
template <class... Layers>
struct Sequential {};

/// A layer (or Sequential) with a name: its parameters are "name.weight" instead of "index.weight". With an
/// empty one it is no level of the names: "weight".
template <FixedString Name, class Layer>
struct Named {
  static constexpr FixedString name = Name;
  using named_layer = Layer;
};

/// The layers whose outputs a layer reads, by number; a join reads two.
struct Reads {
  static constexpr int input = -1, none = -2;  // the net's input; nothing
  int first = input, second = none;
};

namespace detail {

// Named is recognised by its members: nvcc 13 doesn't match a partial specialisation with a string argument.
template <class L>
concept IsNamed = requires { typename L::named_layer; };

/// L has what nn/layer.hpp says.
template <class L>
inline constexpr bool is_pointwise = false;
template <class L>
  requires requires { L::lowers_to; }
inline constexpr bool is_pointwise<L> = L::lowers_to == Lowering::pointwise;
template <class L>
concept IsLayer = requires {
  L::lowers_to;
  L::parameters;
  &L::rule;
  &L::repr;
} && (!is_pointwise<L> || requires { L::template op<false>(0); });
/// In place of what is none, so that this is the only error.
template <class L>
struct NoLayer {
  static constexpr auto complaint() {
    if constexpr (!requires { L::lowers_to; })
      return static_cast<layer_lacks<L, layer_part::lowers_to>*>(nullptr);
    else if constexpr (!requires { L::parameters; })
      return static_cast<layer_lacks<L, layer_part::parameters>*>(nullptr);
    else if constexpr (!requires { &L::rule; })
      return static_cast<layer_lacks<L, layer_part::rule>*>(nullptr);
    else if constexpr (!requires { &L::repr; })
      return static_cast<layer_lacks<L, layer_part::repr>*>(nullptr);
    else
      return static_cast<layer_lacks<L, layer_part::op>*>(nullptr);
  }
  static_assert(sizeof(*complaint()));
  static constexpr Lowering lowers_to = Lowering::view;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = no_parameters;
  static std::string repr() { return {}; }
};
/// A layer with its dotted path, from a net without nesting.
template <class L>
struct Flat {
  using type = std::tuple<std::conditional_t<IsLayer<L>, L, NoLayer<L>>>;
};
template <class... L>
struct Flat<Sequential<L...>> {
  using type = decltype(std::tuple_cat(std::declval<typename Flat<L>::type>()...));
};
template <IsNamed L>
struct Flat<L> : Flat<typename L::named_layer> {};

/// Writes the paths of L's layers from out on; returns behind the last.
template <class L>
struct Paths {
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix) {
    *out = prefix;
    return out + 1;
  }
};
template <class L>
struct ChildPath {  // of child number i under `prefix`
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix, int i) {
    if (prefix.size) prefix.append(".", 1);
    char digits[12]{};
    std::size_t n = 0;
    for (int v = i; n == 0 || v; v /= 10) digits[n++] = char('0' + v % 10);
    while (n) prefix.append(&digits[--n], 1);
    return Paths<L>::write(out, prefix);
  }
};
template <IsNamed L>
struct ChildPath<L> {
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix, int) {
    if (prefix.size && L::name.size()) prefix.append(".", 1);
    prefix.append(L::name.text, L::name.size());
    return Paths<typename L::named_layer>::write(out, prefix);
  }
};
template <class... L>
struct Paths<Sequential<L...>> {
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix) {
    int i = 0;
    ((out = ChildPath<L>::write(out, prefix, i++)), ...);
    return out;
  }
};
template <IsNamed L>
struct Paths<L> : Paths<typename L::named_layer> {};

/// Writes what L's layers read, from layer n on, where `from` comes before them; returns the layer whose
/// output is L's.
template <class L>
struct Wires {
  static constexpr int write(Reads* out, int& n, int from) {
    out[n].first = from;
    return n++;
  }
};
template <class... L>
struct Wires<Sequential<L...>> {
  static constexpr int write(Reads* out, int& n, int from) {
    ((from = Wires<L>::write(out, n, from)), ...);
    return from;
  }
};
template <IsNamed L>
struct Wires<L> : Wires<typename L::named_layer> {};

}  // namespace detail

/// Net's layers in order as a std::tuple, without nesting and names.
template <class Net>
using flat_layers = typename detail::Flat<Net>::type;

/// How many those are.
template <class Net>
inline constexpr int layer_count = int(std::tuple_size_v<flat_layers<Net>>);

/// What each of them reads.
template <class Net>
inline constexpr auto layer_reads = [] {
  std::array<Reads, std::size_t(layer_count<Net>)> r{};
  int n = 0;
  detail::Wires<Net>::write(r.data(), n, Reads::input);
  return r;
}();

/// Their dotted names.
template <class Net>
inline constexpr auto layer_paths = [] {
  std::array<LayerPath, std::size_t(layer_count<Net>)> p{};
  detail::Paths<Net>::write(p.data(), {});
  return p;
}();

}  // namespace kern::nn
