// A net's parameters by name: "conv1.weight", as in PyTorch's state_dict.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../core/error.hpp"
#include "../core/fixed_string.hpp"
#include "../core/mismatch.hpp"
#include "../tensor/extents.hpp"
#include "plan.hpp"

namespace kern {

/// The words of compile errors about a parameter, never defined:
///   no_parameter_is_called<named<"fc.wieght">, there_is<"fc.weight">, there_is<"fc.bias">>
///   parameter_shape_mismatch<named<"fc.weight">, expects_shape<10, 128>, gets_shape<128, 10>>
///   two_parameters_are_called<named<"fc.weight">>
template <class Name, class... Nearest>
struct no_parameter_is_called;
template <auto Name>
struct there_is;
template <class Name, class Expected, class Got>
struct parameter_shape_mismatch;
template <class Name>
struct two_parameters_are_called;
template <class Layer, class Beginning>
struct dotted_name_is_longer_than_95_characters;

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
constexpr int find_slot(std::span<const ParameterSlot> slots, std::string_view name) {
  int i = 0;
  for (const ParameterSlot& s : slots) {
    if (s.name.view() == name) return i;
    ++i;
  }
  return -1;
}
template <class Net>
constexpr int find_parameter(std::string_view name) {
  return find_slot(parameter_slots<Net>, name);
}

/// All names in order, for messages: "conv.weight, conv.bias".
template <class Net>
[[gnu::cold]] std::string parameter_list() {
  std::string all;
  for (const ParameterSlot& s : parameter_slots<Net>) {
    if (!all.empty()) all += ", ";
    all += s.name.view();
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
/// The numbers of the parameters whose names are nearest to `name`, the nearest first; -1 behind the last.
constexpr auto nearest_slots(std::span<const ParameterSlot> slots, std::string_view name) {
  constexpr std::size_t most = 6;
  std::array<int, most> nearest{}, distance{};
  nearest.fill(-1);
  int number = 0;
  for (const ParameterSlot& s : slots) {
    int far = edit_distance(name, s.name.view()), at = number++;
    bool placed = false;
    for (std::size_t k = 0; k < most && at >= 0; ++k) {
      placed = placed || nearest[k] < 0 || far < distance[k];
      if (placed) std::swap(nearest[k], at), std::swap(distance[k], far);
    }
  }
  return nearest;
}
template <class Net, int Slot, std::size_t Most = LayerPath::capacity>
constexpr auto slot_text() {
  constexpr LayerPath name = parameter_slots<Net>[Slot].name;
  constexpr std::size_t size = std::min(name.size, Most);
  kern::detail::Text<size + 1> t;
  for (std::size_t i = 0; i < size; ++i) t.text[i] = name.text[i];
  return t;
}
}  // namespace detail

/// That called `name`, of what `kind` says. Throws ArgumentError where none is, with the nearest.
[[gnu::cold]] inline const ParameterSlot& slot_called(std::span<const ParameterSlot> slots, const char* kind,
                                                      std::string_view name) {
  if (const int i = find_slot(slots, name); i >= 0) return slots[std::size_t(i)];
  std::string nearest;
  for (const int i : detail::nearest_slots(slots, name))
    if (i >= 0) nearest += text(nearest.empty() ? "" : ", ", slots[std::size_t(i)].name.view());
  throw ArgumentError(
      text("no ", kind, " is called \"", name, "\"; ",
           slots.size() > detail::nearest_slots(slots, name).size() ? "the nearest are: " : "there are: ",
           slots.empty() ? "none" : nearest));
}
/// Throws ShapeError where `got`, which may have dyn extents, can't be the slot's shape. call: who asks.
[[gnu::cold]] inline void require_shape(const ParameterSlot& slot, const char* call,
                                        std::span<const int> got) {
  const std::span<const int> expected(slot.parameter.shape.data(), std::size_t(slot.parameter.rank));
  const auto fits = [](int e, int g) { return g == e || g == dyn; };
  if (!std::equal(expected.begin(), expected.end(), got.begin(), got.end(), fits))
    throw ShapeError(text(call, "(\"", slot.name.view(), "\"): expected shape ", shape_string(expected),
                          ", got ", shape_string(got)));
}

/// What a compiler is told where Net has no parameter called Name.
template <class Net, FixedString Name>
struct ParameterCalled {
  static constexpr int number = find_parameter<Net>(Name.view());
  static auto complaint() {
    if constexpr (number >= 0) {
      return static_cast<char*>(nullptr);
    } else {
      constexpr auto nearest = detail::nearest_slots(parameter_slots<Net>, Name.view());
      constexpr std::size_t count = std::min(nearest.size(), parameter_slots<Net>.size());
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return static_cast<
            no_parameter_is_called<named<Name>, there_is<detail::slot_text<Net, nearest[I]>()>...>*>(nullptr);
      }(std::make_index_sequence<count>{});
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

/// The number of the first parameter that has the name of one before it, or whose name was cut; -1: none.
template <class Net>
constexpr int first_duplicate() {
  int i = 0;
  for (const ParameterSlot& s : parameter_slots<Net>)
    if (find_parameter<Net>(s.name.view()) != i++) return i - 1;
  return -1;
}
template <class Net>
constexpr int first_cut() {
  int i = 0;
  for (const ParameterSlot& s : parameter_slots<Net>) {
    if (s.name.cut) return i;
    ++i;
  }
  return -1;
}
/// Compiles where no two parameters have the same name.
template <class Net, int Slot = first_duplicate<Net>()>
struct UniqueNames {
  static_assert(sizeof(two_parameters_are_called<named<detail::slot_text<Net, Slot>()>>));
};
template <class Net>
struct UniqueNames<Net, -1> {};
/// Compiles where none has a name that was cut.
template <class Net, int Slot = first_cut<Net>()>
struct WholeNames {
  static_assert(
      sizeof(dotted_name_is_longer_than_95_characters<at_layer<parameter_slots<Net>[std::size_t(Slot)].layer>,
                                                      named<detail::slot_text<Net, Slot, 24>()>>));
};
template <class Net>
struct WholeNames<Net, -1> {};

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
