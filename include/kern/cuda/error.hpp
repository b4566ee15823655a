// What CUDA's calls report, as exceptions.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#ifdef __CUDACC__
#include <cuda_runtime_api.h>
#endif

#include "../core/error.hpp"

namespace kern {

/// A kernel and how it was started; `kernel` is empty where no launch is meant.
struct CudaLaunch {
  std::string kernel;
  std::array<unsigned, 3> grid{}, block{};  ///< in blocks, in threads: x, y, z
  std::size_t shared = 0;                   ///< dynamic shared memory of a block, in bytes
};

/// A call of CUDA that failed: "cudaMalloc(4096 bytes) on device 0: out of memory
/// (cudaErrorMemoryAllocation)".
struct CudaError : Error {
  CudaError(std::string call_, int code_, std::string name_, std::string text_, CudaLaunch launch_ = {})
      : Error(kern::text(call_, ": ", text_, name_.empty() ? "" : " (", name_, name_.empty() ? "" : ")")),
        call(std::move(call_)),
        code(code_),
        name(std::move(name_)),
        text(std::move(text_)),
        launch(std::move(launch_)) {}

  std::string call;   ///< with its arguments: "cudaMalloc(4096 bytes) on device 0"
  int code;           ///< a cudaError_t
  std::string name;   ///< of the code: "cudaErrorMemoryAllocation"
  std::string text;   ///< what CUDA says about it: "out of memory"
  CudaLaunch launch;  ///< of a launch: which kernel, how
};

#ifdef __CUDACC__
namespace gpu {

[[noreturn, gnu::cold]] inline void fail(cudaError_t error, const std::string& call,
                                         const CudaLaunch& launch = {}) {
  cudaGetLastError();  // or the next launch would find it
  throw CudaError(call, int(error), cudaGetErrorName(error), cudaGetErrorString(error), launch);
}

/// Throws CudaError unless `error` is cudaSuccess. The pieces, texts and numbers, name the call; they are put
/// together only then: check(cudaFree(p), "cudaFree") or check(e, "cudaMalloc(", n, " bytes)").
template <class... Pieces>
void check(cudaError_t error, const Pieces&... call) {
  if (error != cudaSuccess) [[unlikely]]
    fail(error, kern::text(call...));
}

}  // namespace gpu
#endif

}  // namespace kern
