// Where an op that computes one element, or a register of them, stands.
#pragma once
#include <cstdint>

#include "../core/philox.hpp"

namespace kern::ops {

/// What random ops depend on besides their place.
struct Draw {
  Seed seed{};
  std::uint32_t step = 0;
  bool train = false;
};

/// A run of channels of one sample, as a pointwise op sees it: channels [channel, channel + lanes) of
/// `channels`.
struct Place {
  int sample, channel, channels;
};

}  // namespace kern::ops
