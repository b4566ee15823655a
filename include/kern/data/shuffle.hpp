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

/// order: 0 to order.size() - 1, sorted by Philox keys of (seed, use, epoch). `keys` is room.
inline void shuffle(Seed seed, Shuffle use, std::uint32_t epoch, std::vector<std::uint32_t>& order,
                    std::vector<OrderKey>& keys) {
  keys.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto r = random::draw(seed, random::Stream::shuffle, std::uint32_t(use), epoch, std::uint32_t(i));
    keys[i] = {std::uint64_t{r[0]} << 32 | r[1], std::uint32_t(i)};
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].second;
}

}  // namespace kern::data::detail
