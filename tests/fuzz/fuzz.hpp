// For libFuzzer's programs: each has LLVMFuzzerTestOneInput, which reads any bytes as a file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kern/core/error.hpp"

namespace kern::testing {

/// f may throw a kern::Error whose message begins with the file's name, and nothing else.
template <class F>
void only_errors(std::string_view file, F f) {
  try {
    f();
  } catch (const Error& e) {
    if (!std::string_view(e.what()).starts_with(file)) std::abort();
  }
}
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace kern::testing
