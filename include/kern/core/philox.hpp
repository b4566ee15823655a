// Philox4x32-10, the counter-based random numbers of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011. A number depends on its counter and key alone: no state, any order, any
// number of threads.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

#include "device_code.hpp"

namespace kern {

/// Where all randomness of a program starts.
struct Seed {
  std::uint64_t value = 0;
};

namespace rng {

/// What a random number is for: part of its key, so that no two uses share numbers.
enum class Stream : std::uint32_t {
  init = 0,
  dropout = 1,
  shuffle = 2,
  tensor = 3,
  transform = 4,
  picture = 5
};

/// Four 32-bit numbers.
struct Block {
  std::uint32_t number[4];
  KERN_HOST_DEVICE constexpr std::uint32_t& operator[](std::size_t i) { return number[i]; }
  KERN_HOST_DEVICE constexpr std::uint32_t operator[](std::size_t i) const { return number[i]; }
  friend constexpr auto operator<=>(const Block&, const Block&) = default;
};
struct Key {
  std::uint32_t number[2];
};

/// The four 32-bit numbers at `counter` under `key`.
KERN_HOST_DEVICE constexpr Block philox(Block counter, Key key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = Block{{std::uint32_t(b >> 32) ^ counter[1] ^ key.number[0], std::uint32_t(b),
                     std::uint32_t(a >> 32) ^ counter[3] ^ key.number[1], std::uint32_t(a)}};
    key.number[0] += 0x9E3779B9u;
    key.number[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The four numbers of element group `group` of stream (s, sub) at step `step`. `sub` tells users of one
/// stream apart (a layer's index, say). Steps and groups up to 2^32 - 1; streams below 2^8, subs below 2^24.
KERN_HOST_DEVICE constexpr Block draw(Seed seed, Stream s, std::uint32_t sub, std::uint32_t step,
                                      std::uint32_t group, std::uint32_t item = 0) {
  return philox(Block{{group, item, step, std::uint32_t(s) << 24 | sub}},
                Key{{std::uint32_t(seed.value), std::uint32_t(seed.value >> 32)}});
}

/// A 32-bit number as a uniform one in [0, 1), exact in float: its top 24 bits.
KERN_HOST_DEVICE constexpr float uniform(std::uint32_t r) { return float(r >> 8) * 0x1p-24f; }

}  // namespace rng
}  // namespace kern
