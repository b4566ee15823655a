#pragma once

namespace kern {

/// Where a model lives: this machine's CPU.
struct Host {
  int threads = 0;  ///< 0: all hardware threads
  static constexpr const char* name = "cpu";
};

}  // namespace kern
