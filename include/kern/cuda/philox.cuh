// core/philox.hpp for a device: the same numbers. For nvcc only.
#pragma once
#include "../core/philox.hpp"

namespace kern::gpu {

/// As random::philox.
__device__ inline uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned a = 0xD2511F53u, b = 0xCD9E8D57u;
    counter = make_uint4(__umulhi(b, counter.z) ^ counter.y ^ key.x, b * counter.z,
                         __umulhi(a, counter.x) ^ counter.w ^ key.y, a * counter.x);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

/// As random::draw.
__device__ inline uint4 draw(Seed seed, random::Stream stream, std::uint32_t sub, std::uint32_t step,
                             std::uint32_t group, std::uint32_t item = 0) {
  return philox(make_uint4(group, item, step, std::uint32_t(stream) << 24 | sub),
                make_uint2(std::uint32_t(seed.value), std::uint32_t(seed.value >> 32)));
}

}  // namespace kern::gpu
