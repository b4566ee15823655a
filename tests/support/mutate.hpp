// Damage as files suffer it, and as an attacker would choose it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace kern::testing {

/// A copy of `bytes` with one to three faults: bytes changed (more often near the beginning), set to
/// extremes, cut off, removed, repeated or added.
inline std::vector<std::uint8_t> mutate(std::vector<std::uint8_t> b, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  const auto offset = [&](std::size_t i) { return b.begin() + std::ptrdiff_t(i); };
  for (std::size_t faults = 1 + below(3); faults > 0; --faults) {
    const std::size_t at = b.empty() ? 0 : below(below(2) ? b.size() : std::min<std::size_t>(b.size(), 20));
    const std::size_t n = std::min<std::size_t>(b.size() - at, 1 + below(6));
    switch (below(7)) {
      case 0:
        if (!b.empty()) b[at] = std::uint8_t(random());
        break;
      case 1:
        if (!b.empty()) b[at] ^= std::uint8_t(1u << below(8));
        break;
      case 2:
        std::fill_n(offset(at), n, below(2) ? std::uint8_t{255} : std::uint8_t{0});
        break;
      case 3:
        b.resize(at);
        break;
      case 4:
        b.erase(offset(at), offset(at + n));
        break;
      case 5: {
        const std::vector<std::uint8_t> part(offset(at), offset(at + n));
        b.insert(offset(at), part.begin(), part.end());
        break;
      }
      default:
        for (std::size_t i = below(40); i > 0; --i) b.push_back(std::uint8_t(random()));
    }
  }
  return b;
}

}  // namespace kern::testing
