// A net's parameters by name: "conv1.weight", as in PyTorch's state_dict.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "../core/fixed_string.hpp"
#include "../core/mismatch.hpp"
#include "../tensor/extents.hpp"
#include "plan.hpp"

namespace kern {

/// The words of compile errors about a parameter, never defined:
///   no_parameter_is_called<named<"fc.wieght">, there_is<"fc.weight">, there_is<"fc.bias">>
///   parameter_shape_mismatch<named<"fc.weight">, expects_shape<10, 128>, gets_shape<128, 10>>
template <class Name, class... Nearest>
struct no_parameter_is_called;
template <auto Name>
struct there_is;
template <class Name, class Expected, class Got>
struct parameter_shape_mismatch;
template <int... Extents>
struct expects_shape;
template <int... Extents>
struct gets_shape;

}  // namespace kern

namespace kern::graph {

/// Parameter `index` of layer `layer`, and what PyTorch calls it.
struct ParameterSlot {
  LayerPath name{};
  nn::Parameter parameter{};
  int layer = 0, index = 0;
};

namespace detail {
struct ParametersOf {
  template <class L>
  static constexpr const auto& of() {
    return L::parameters;
  }
};
struct BuffersOf {
  template <class L>
  static constexpr const auto& of() {
    if constexpr (requires { L::buffers; })
      return L::buffers;
    else
      return nn::detail::no_parameters;
  }
};
template <class Layers, class Which>
struct Slots;
template <class... L, class Which>
struct Slots<std::tuple<L...>, Which> {
  static constexpr int count = int((Which::template of<L>().size() + ... + 0));
  template <class Paths>
  static constexpr auto make(const Paths& paths) {
    std::array<ParameterSlot, std::size_t(count)> slots{};
    std::size_t n = 0;
    int layer = 0;
    auto add = [&](const auto& parameters) {
      int index = 0;
      for (const nn::Parameter& p : parameters) {
        ParameterSlot& s = slots[n++];
        s = {paths[std::size_t(layer)], p, layer, index++};
        if (s.name.size) s.name.append(".", 1);  // a net that is one layer has no number
        s.name.append(p.name, std::char_traits<char>::length(p.name));
      }
      ++layer;
    };
    (add(Which::template of<L>()), ...);
    return slots;
  }
};
}  // namespace detail

/// All parameters of Net in order.
template <class Net>
inline constexpr auto parameter_slots =
    detail::Slots<nn::flat_layers<Net>, detail::ParametersOf>::make(nn::layer_paths<Net>);
/// What its layers keep beside them and don't train: running statistics.
template <class Net>
inline constexpr auto buffer_slots =
    detail::Slots<nn::flat_layers<Net>, detail::BuffersOf>::make(nn::layer_paths<Net>);

/// A parameter of Net begins as N(0, 1).
template <class Net>
inline constexpr bool begins_normal = [] {
  for (const ParameterSlot& s : parameter_slots<Net>)
    if (s.parameter.initial == nn::Initial::normal) return true;
  return false;
}();

/// The number of the parameter called `name`, or -1.
template <class Net>
constexpr int find_parameter(std::string_view name) {
  int i = 0;
  for (const ParameterSlot& s : parameter_slots<Net>) {
    if (std::string_view(s.name.text, s.name.size) == name) return i;
    ++i;
  }
  return -1;
}

/// All names in order, for messages: "conv.weight, conv.bias".
template <class Net>
[[gnu::cold]] std::string parameter_list() {
  std::string all;
  for (const ParameterSlot& s : parameter_slots<Net>) {
    if (!all.empty()) all += ", ";
    all.append(s.name.text, s.name.size);
  }
  return all;
}

namespace detail {
/// Characters to insert, delete or replace between two names.
constexpr int edit_distance(std::string_view a, std::string_view b) {
  std::array<int, LayerPath::capacity + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = int(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], int(i) + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int kept = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, kept});
    }
  }
  return row[b.size()];
}
/// The numbers of Net's parameters whose names are nearest to `name`, the nearest first; at most 6.
template <class Net>
constexpr auto nearest_parameters(std::string_view name) {
  constexpr std::size_t count = parameter_slots<Net>.size(), most = std::min<std::size_t>(count, 6);
  std::array<std::pair<int, int>, count> all{};
  int i = 0;
  for (const ParameterSlot& s : parameter_slots<Net>)
    all[std::size_t(i)] = {edit_distance(name, {s.name.text, s.name.size}), i}, ++i;
  std::sort(all.begin(), all.end());
  std::array<int, most> nearest{};
  for (std::size_t k = 0; k < most; ++k) nearest[k] = all[k].second;
  return nearest;
}
template <class Net, int Slot>
constexpr auto slot_text() {
  constexpr LayerPath name = parameter_slots<Net>[Slot].name;
  kern::detail::Text<name.size + 1> t;
  for (std::size_t i = 0; i < name.size; ++i) t.text[i] = name.text[i];
  return t;
}
}  // namespace detail

/// What a compiler is told where Net has no parameter called Name.
template <class Net, FixedString Name>
struct ParameterCalled {
  static constexpr int number = find_parameter<Net>(Name.view());
  static auto complaint() {
    if constexpr (number >= 0) {
      return static_cast<char*>(nullptr);
    } else {
      constexpr auto nearest = detail::nearest_parameters<Net>(Name.view());
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return static_cast<
            no_parameter_is_called<named<Name>, there_is<detail::slot_text<Net, nearest[I]>()>...>*>(nullptr);
      }(std::make_index_sequence<nearest.size()>{});
    }
  }
  static_assert(sizeof(*complaint()));
};
/// And where something of shape Got is to be a parameter of shape Expected. Name: named<its name>.
template <class Name, class Expected, class Got, bool = kern::detail::may_be<Got, Expected>()>
struct ParameterShaped {};
template <class Name, int... E, int... G>
struct ParameterShaped<Name, Shape<E...>, Shape<G...>, false> {
  static_assert(sizeof(parameter_shape_mismatch<Name, expects_shape<E...>, gets_shape<G...>>));
};

/// No two parameters have the same name.
template <class Net>
constexpr bool names_are_unique() {
  int i = 0;
  for (const ParameterSlot& s : parameter_slots<Net>)
    if (find_parameter<Net>({s.name.text, s.name.size}) != i++) return false;
  return true;
}

/// No layer's dotted name was cut.
template <class Net>
constexpr bool names_are_whole() {
  for (const LayerPath& p : nn::layer_paths<Net>)
    if (p.cut) return false;
  for (const ParameterSlot& s : parameter_slots<Net>)
    if (s.name.cut) return false;
  return true;
}

/// f(index in PyTorch's layout, index from `first` on) for every feature of a norm.
template <class F>
constexpr void each_feature(const Stage& norm, std::size_t first, F f) {
  std::size_t at = 0;
  for (int c = 0; c < norm.param_out; ++c)
    for (int a = 0; a < norm.param_h; ++a)
      for (int b = 0; b < norm.param_w; ++b)
        f(at++, first + std::size_t((a * norm.param_w + b) * norm.cols() + c));
}
/// The same, index among the stored buffers.
template <class F>
constexpr void each_buffer_element(const ParameterSlot& slot, const Stage& norm, F f) {
  each_feature(norm, norm.buffers + std::size_t(slot.index) * std::size_t(norm.norm.features()), f);
}

/// Where `slot`, which `stage` owns, lies among the stored parameters, with its padding: [first, last).
inline std::pair<std::size_t, std::size_t> stored_range(const ParameterSlot& slot, const Stage& stage) {
  const std::size_t first = slot.index == 1 ? stage.bias : stage.weight;
  return {first, first + std::size_t(slot.index == 1 ? stage.bias_size() : stage.weight_size())};
}

/// f(index in PyTorch's layout, index among the stored parameters) for every element of `slot`, which `stage`
/// owns.
template <class F>
constexpr void each_element(const ParameterSlot& slot, const Stage& stage, F f) {
  const auto cols = std::size_t(stage.cols());
  if (stage.normalises()) return each_feature(stage, slot.index == 0 ? stage.weight : stage.bias, f);
  if (slot.index == 1) {
    for (int o = 0; o < stage.param_out; ++o) f(std::size_t(o), stage.bias + std::size_t(o));
    return;
  }
  // From one output channel to the next, and from one input channel: an embedding's rows are as PyTorch's.
  const std::size_t out = stage.kind == Kind::lookup ? cols : 1, in = stage.kind == Kind::lookup ? 1 : cols;
  std::size_t at = 0;
  for (int o = 0; o < stage.param_out; ++o)
    for (int i = 0; i < stage.param_in; ++i)
      for (int a = 0; a < stage.param_h; ++a)
        for (int b = 0; b < stage.param_w; ++b)
          f(at++, stage.weight + std::size_t((a * stage.param_w + b) * stage.stored_in + i) * in +
                      std::size_t(o) * out);
}

}  // namespace kern::graph
