// Starting kernels. For nvcc only.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "device.hpp"

namespace kern::gpu {

/// How a kernel is started: blocks, threads of a block, bytes of dynamic shared memory.
struct Grid {
  dim3 blocks{1, 1, 1}, threads{1, 1, 1};
  std::size_t shared = 0;
};

/// A thread for each of n things, in at most so many blocks; at least one.
inline Grid grid_of(std::size_t n, std::size_t most_blocks = 0x7fffffff) {
  constexpr unsigned threads = 256;
  const std::size_t blocks = std::clamp<std::size_t>((n + threads - 1) / threads, 1, most_blocks);
  return {dim3(unsigned(blocks)), dim3(threads)};
}
/// The same for a kernel that goes on in steps of all threads (see for_each): no more of them than keep a
/// device busy.
inline Grid grid_for(std::size_t n) { return grid_of(n, 16384); }

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
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  if (error != cudaSuccess) [[unlikely]] {
    const dim3 &b = grid.blocks, &t = grid.threads;
    fail(error,
         text("launch of ", name, " with a grid of (", b.x, ", ", b.y, ", ", b.z, ") blocks of (", t.x, ", ",
              t.y, ", ", t.z, ") threads and ", grid.shared, " bytes of shared memory each on device ",
              where.device),
         {name, {b.x, b.y, b.z}, {t.x, t.y, t.z}, grid.shared});
  }
}

/// f(i) for this thread's share of 0 <= i < n.
template <class F>
__device__ void for_each(std::size_t n, F f) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

}  // namespace kern::gpu
