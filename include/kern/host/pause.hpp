// Waiting in a loop.
#pragma once

namespace kern::host {

/// A hint to the CPU that this thread waits in a loop.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace kern::host
