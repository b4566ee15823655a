#pragma once

namespace kern {

namespace host {
template <class T>
class Backend;
}

/// Where a model lives: this machine's CPU.
struct Host {
  int threads = 0;  ///< 0: all hardware threads
  static constexpr const char* name = "cpu";
  /// What runs a model's stages (host/backend.hpp).
  template <class T>
  using Backend = host::Backend<T>;
};

}  // namespace kern
