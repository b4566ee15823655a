// Starting kernels. For nvcc only.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "device.hpp"

namespace kern::gpu {

/// How a kernel is started: blocks, threads of a block, bytes of dynamic shared memory.
struct Grid {
  dim3 blocks{1, 1, 1}, threads{1, 1, 1};
  std::size_t shared = 0;
};

/// "convolve with a grid of (64, 1, 1) blocks of (144, 1, 1) threads and 18560 bytes of shared memory".
[[gnu::cold]] inline std::string launch_text(const char* kernel, const Grid& g) {
  const dim3 &b = g.blocks, &t = g.threads;
  return text(kernel, " with a grid of (", b.x, ", ", b.y, ", ", b.z, ") blocks of (", t.x, ", ", t.y, ", ",
              t.z, ") threads and ", g.shared, " bytes of shared memory");
}

/// A thread for each of n things, in at most so many blocks; at least one.
inline Grid grid_of(std::size_t n, std::size_t most_blocks = 0x7fffffff) {
  constexpr unsigned threads = 256;
  const std::size_t blocks = std::clamp<std::size_t>((n + threads - 1) / threads, 1, most_blocks);
  return {dim3(unsigned(blocks)), dim3(threads)};
}
/// The same for a kernel that goes on in steps of all threads (see for_each): no more of them than keep a
/// device busy.
inline Grid grid_for(std::size_t n) { return grid_of(n, 16384); }

/// Is told of this thread's launches as long as it lives: for tests and measurements.
class LaunchObserver {
 public:
  LaunchObserver() : before_(current()) { current() = this; }
  virtual ~LaunchObserver() { current() = before_; }
  LaunchObserver(const LaunchObserver&) = delete;
  LaunchObserver& operator=(const LaunchObserver&) = delete;

  /// The launch that was just put on the stream of `where`.
  struct Launched {
    const char* kernel;
    Grid grid;
    Cuda where;
    cudaError_t (*start)(const void*);
    const void* how;
    /// Puts it there once more; what it changes, it changes once more.
    cudaError_t again() const { return start(how); }
  };
  virtual void launched(const Launched&) = 0;

  static LaunchObserver*& current() {
    static thread_local LaunchObserver* observer = nullptr;
    return observer;
  }

 private:
  LaunchObserver* before_;
};

/// Starts kernel(arguments...) on the device and stream of `where`. Throws CudaError with its name and
/// configuration.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const Grid& grid, const Cuda& where,
            Arguments... arguments) {
  const OnDevice on(where);
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared;
  config.stream = where.stream;
  const auto start = [&] {
    return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  };
  const cudaError_t error = start();
  if (error != cudaSuccess) [[unlikely]] {
    const dim3 &b = grid.blocks, &t = grid.threads;
    fail(error, text("launch of ", launch_text(name, grid), " each on device ", where.device),
         {name, {b.x, b.y, b.z}, {t.x, t.y, t.z}, grid.shared});
  }
  if (LaunchObserver* const observer = LaunchObserver::current()) [[unlikely]]
    observer->launched(
        {name, grid, where, [](const void* how) { return (*static_cast<decltype(start)*>(how))(); }, &start});
}

/// f(i) for this thread's share of 0 <= i < n.
template <class F>
__device__ void for_each(std::size_t n, F f) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

}  // namespace kern::gpu
