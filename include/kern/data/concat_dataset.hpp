// Data sets one behind another.
#pragma once
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "refused.hpp"

namespace kern::data {

namespace detail {
/// Neither was refused, or else nothing more is said of them.
template <class A, class B>
constexpr bool same_samples() {
  return std::is_same_v<typename A::Sample, typename B::Sample> || Refused<A> || Refused<B>;
}
/// Both are sets of classes, or of values of one shape.
template <class A, class B>
constexpr bool same_targets() {
  if constexpr (requires { typename A::Targets; } && requires { typename B::Targets; })
    return std::is_same_v<typename A::Targets, typename B::Targets>;
  else
    return (
               !requires { typename A::Targets; } && !requires { typename B::Targets; }) ||
           Refused<A> || Refused<B>;
}
}  // namespace detail

/// The records of the first set, then those of the next, and so on; of any types, with pictures of one shape.
/// Its classes are as many as those of the set that has most; or all have Targets of one shape.
/// torch.utils.data.ConcatDataset.
template <Dataset First, Dataset... Rest>
class ConcatDataset : public detail::TargetsOf<First> {
 public:
  using Sample = typename First::Sample;
  static_assert((detail::same_samples<First, Rest>() && ...), "ConcatDataset: the sets' Samples differ");
  static_assert((detail::same_targets<First, Rest>() && ...), "ConcatDataset: the sets' Targets differ");

  explicit ConcatDataset(First first, Rest... rest) : sets_(std::move(first), std::move(rest)...) {}
  std::size_t size() const {
    return std::apply([](const auto&... set) { return (std::size_t(set.size()) + ...); }, sets_);
  }
  int classes() const {
    return std::apply([](const auto&... set) { return std::max({int(set.classes())...}); }, sets_);
  }
  Record get(std::size_t i) const { return get<0>(i); }

 private:
  template <std::size_t Number>
  Record get(std::size_t i) const {
    const auto& set = std::get<Number>(sets_);
    if constexpr (Number < sizeof...(Rest))
      if (i >= set.size()) return get<Number + 1>(i - set.size());
    return set.get(i);
  }
  std::tuple<First, Rest...> sets_;
};
template <class First, class... Rest>
ConcatDataset(First, Rest...) -> ConcatDataset<detail::CheckedSet<First>, detail::CheckedSet<Rest>...>;

}  // namespace kern::data
