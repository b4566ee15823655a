#pragma once
#include "../core/device_code.hpp"

namespace kern::ops {

/// Where the elements of one sample's output stand as stored: channel c * pixels + p at p * cols + c.
struct OutputLayout {
  int channels, pixels, cols;
  KERN_HOST_DEVICE constexpr int size() const { return channels * pixels; }
  KERN_HOST_DEVICE constexpr int at(int j) const { return pixels == 1 ? j : j % pixels * cols + j / pixels; }
};

}  // namespace kern::ops
