// What changes from one training step to the next, in the device's memory: a recorded kernel's arguments do
// not.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../core/stage.hpp"

namespace kern::gpu {

struct StepBlock {
  alignas(16) std::byte update[112];  // the optimizer's op
  std::uint32_t step;
};

/// A Draw whose step stands in a block.
struct StepDraw {
  Seed seed;
  bool train;
  const StepBlock* block;
  __device__ operator Draw() const { return {seed, train ? block->step : 0, train}; }
};

}  // namespace kern::gpu
