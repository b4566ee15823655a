// Orders that depend on a seed alone.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../core/philox.hpp"

namespace kern::data::detail {

/// What an order is for: part of its key, so that no two uses share numbers.
enum class Shuffle : std::uint32_t { loader = 0, split = 1 };

using OrderKey = std::pair<std::uint64_t, std::uint32_t>;

/// What number i is sorted by.
KERN_HOST_DEVICE constexpr std::uint64_t shuffle_key(Seed seed, Shuffle use, std::uint32_t epoch,
                                                     std::uint32_t i) {
  const rng::Block r = rng::draw(seed, rng::Stream::shuffle, std::uint32_t(use), epoch, i);
  return std::uint64_t{r[0]} << 32 | r[1];
}

/// order: 0 to order.size() - 1, sorted by their keys, of equal ones the smaller number first. `keys` is
/// room.
inline void shuffle(Seed seed, Shuffle use, std::uint32_t epoch, std::vector<std::uint32_t>& order,
                    std::vector<OrderKey>& keys) {
  keys.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    keys[i] = {shuffle_key(seed, use, epoch, std::uint32_t(i)), std::uint32_t(i)};
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].second;
}

}  // namespace kern::data::detail
