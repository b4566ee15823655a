// A layer as plain data, for the constexpr function that makes the plan.
#pragma once
#include <array>
#include <cstddef>
#include <tuple>

#include "../core/stage.hpp"
#include "../nn/layer.hpp"
#include "../ops/chain.hpp"

namespace kern::graph {

/// What fold() asks of a layer.
struct LayerTraits {
  nn::Lowering lowers_to;
  nn::Rule (*rule)(Dims);
  bool monotone;  // these of its op
  ops::Needs needs;
  ops::Keeps keeps;
  std::size_t parameters;  // elements
  bool has_bias;
  nn::NormRates rates{};
  nn::Rule (*joins)(Dims, Dims) = nullptr;  // of a join, instead of the rule
  Joining joining = join_sum;
};

template <class L>
constexpr LayerTraits traits_of() {
  LayerTraits t{L::lowers_to, nullptr, true, {}, {}, 0, L::parameters.size() > 1};
  if constexpr (L::lowers_to == nn::Lowering::join)
    t.joins = &L::rule, t.joining = L::joining;
  else
    t.rule = &L::rule;
  for (const nn::Parameter& p : L::parameters) t.parameters += p.size();
  if constexpr (L::lowers_to == nn::Lowering::pointwise) {
    using Op = decltype(L::template op<false>(0));
    t.monotone = Op::monotone;
    t.needs = Op::needs;
    t.keeps = Op::keeps;
  }
  if constexpr (requires { L::rates; }) t.rates = L::rates;
  return t;
}

namespace detail {

template <class Layers>
struct Traits;
template <class... L>
struct Traits<std::tuple<L...>> {
  static constexpr std::array<LayerTraits, sizeof...(L)> value{traits_of<L>()...};
};

}  // namespace detail

}  // namespace kern::graph
