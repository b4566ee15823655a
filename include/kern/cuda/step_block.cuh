// What changes from one training step to the next, in the device's memory: a recorded kernel's arguments do
// not.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../ops/draw.hpp"

namespace kern::gpu {

/// Where the samples of a batch lie on a device: sample i is number order[i] there, or number i where there
/// is no order. Each is T's, [c][h][w], as PyTorch has them; or, where there is a table, bytes [h][w][c]:
/// byte b of channel c is the number table[c][b].
struct SamplesAt {
  const void* elements = nullptr;
  const std::uint32_t* order = nullptr;
  const void* table = nullptr;  // T's, 256 a channel
};

struct StepBlock {
  static constexpr int most_updates = 16;
  struct alignas(16) Update {
    std::byte op[112];
  };
  Update update[most_updates];  // ops of the optimizer and what else update() is for
  SamplesAt samples;
  std::uint32_t step;
};

/// A Draw whose step stands in a block.
struct StepDraw {
  Seed seed;
  bool train;
  const StepBlock* block;
  __device__ operator ops::Draw() const { return {seed, train ? block->step : 0, train}; }
};

}  // namespace kern::gpu
