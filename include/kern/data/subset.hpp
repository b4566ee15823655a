// Parts of a data set.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "refused.hpp"
#include "shuffle.hpp"

namespace kern::data {

/// The records of a data set at `indices`, in that order. torch.utils.data.Subset.
template <Dataset Set>
class Subset : public detail::TargetsOf<Set> {
 public:
  using Sample = typename Set::Sample;

  /// Throws ArgumentError for an index that is not the set's.
  Subset(Set set, std::vector<std::uint32_t> indices) : set_(std::move(set)) {
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (indices[i] >= set_.size())
        throw ArgumentError(
            text("Subset: index ", i, ": expected one below ", set_.size(), ", got ", indices[i]));
    indices_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(indices));
  }
  std::size_t size() const { return indices_->size(); }
  int classes() const { return set_.classes(); }
  Record get(std::size_t i) const { return set_.get((*indices_)[i]); }
  const Set& dataset() const { return set_; }
  const std::vector<std::uint32_t>& indices() const { return *indices_; }

 private:
  Set set_;
  std::shared_ptr<const std::vector<std::uint32_t>> indices_;
};
template <class Set>
Subset(Set, std::vector<std::uint32_t>) -> Subset<detail::CheckedSet<Set>>;

namespace detail {

/// How many of n records each part has.
template <class T, std::size_t N>
std::array<std::size_t, N> split_lengths(std::size_t n, const T (&parts)[N]) {
  std::array<std::size_t, N> lengths{};
  std::size_t sum = 0;
  T total = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (!(parts[i] >= 0) || (std::is_floating_point_v<T> && !(parts[i] <= 1)))
      throw ArgumentError(
          text("random_split: part ", i, ": expected a length or a fraction, got ", parts[i]));
    total += parts[i];
    if constexpr (std::is_floating_point_v<T>)
      lengths[i] = std::size_t(std::floor(double(n) * double(parts[i])));
    else
      lengths[i] = std::size_t(parts[i]);
    sum += lengths[i];
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (!(std::abs(total - 1) < T(1e-6)))
      throw ArgumentError(text("random_split: expected fractions whose sum is 1, got ", total));
    for (std::size_t i = 0; sum < n; ++i, ++sum) ++lengths[i % N];
  }
  if (sum != n)
    throw ArgumentError(
        text("random_split: expected lengths whose sum is ", n, ", the data set's, got ", sum));
  return lengths;
}

}  // namespace detail

/// A data set cut into parts at random: auto [train, valid] = random_split(set, {0.9, 0.1}, Seed{1}). The
/// parts are lengths whose sum is the set's size, or fractions whose sum is 1: what rounding down leaves over
/// goes one by one to the first ones. The same seed gives the same parts. torch.utils.data.random_split.
/// Throws ArgumentError for parts that don't fit.
template <Dataset Set, class T, std::size_t N>
std::array<Subset<Set>, N> random_split(const Set& set, const T (&parts)[N], Seed seed = {}) {
  const auto lengths = detail::split_lengths(set.size(), parts);
  std::vector<std::uint32_t> order(set.size());
  std::vector<detail::OrderKey> keys;
  detail::shuffle(seed, detail::Shuffle::split, 0, order, keys);
  auto from = order.begin();
  const auto next = [&](std::size_t length) {
    const auto begin = from;
    from += std::ptrdiff_t(length);
    return Subset<Set>(set, {begin, from});
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Subset<Set>, N>{next(lengths[I])...};
  }(std::make_index_sequence<N>());
}
template <class Set, class T, std::size_t N>
  requires(!Dataset<Set>)
auto random_split(const Set& set, const T (&parts)[N], Seed seed = {}) {
  return random_split(detail::NoDataset<Set>(set), parts, seed);
}

}  // namespace kern::data
