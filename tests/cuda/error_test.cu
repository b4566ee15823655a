#include "kern/cuda/error.hpp"

#include <doctest/doctest.h>

#include "kern/cuda/launch.cuh"
#include "kern/cuda/stream.hpp"

using namespace kern;

namespace {
template <class F>
CudaError error_of(F f) {
  try {
    f();
  } catch (const CudaError& e) {
    return e;
  }
  return CudaError("none", 0, "", "");
}

__global__ void nothing(int) {}
}  // namespace

TEST_CASE("success is silent; an error has its call, code, name and text") {
  CHECK_NOTHROW(gpu::check(cudaSuccess, "cudaFree"));
  const CudaError e = error_of([] { gpu::check(cudaErrorMemoryAllocation, "cudaMalloc(", 4096, " bytes)"); });
  CHECK(e.call == "cudaMalloc(4096 bytes)");
  CHECK(e.code == int(cudaErrorMemoryAllocation));
  CHECK(e.name == "cudaErrorMemoryAllocation");
  CHECK(e.text == "out of memory");
  CHECK(e.launch.kernel.empty());
  CHECK(std::string(e.what()) == "cudaMalloc(4096 bytes): out of memory (cudaErrorMemoryAllocation)");
  CHECK_THROWS_AS(gpu::check(cudaErrorUnknown, "x"), Error);
}

TEST_CASE("a launch that fails has also the kernel and its configuration") {
  const CudaError e =
      error_of([] { gpu::launch("nothing", nothing, {dim3(3, 2), dim3(4096), 1024}, Cuda{}, 7); });
  CHECK(e.code != 0);
  CHECK(e.launch.kernel == "nothing");
  CHECK(e.launch.grid == std::array<unsigned, 3>{3, 2, 1});
  CHECK(e.launch.block == std::array<unsigned, 3>{4096, 1, 1});
  CHECK(e.launch.shared == 1024);
  CHECK(e.call ==
        "launch of nothing with a grid of (3, 2, 1) blocks of (4096, 1, 1) threads and 1024 bytes of shared "
        "memory "
        "each on device 0");
}

TEST_CASE("an error that was reported is not found again by the next call") {
  CHECK(error_of([] { gpu::launch("nothing", nothing, {dim3(1), dim3(4096)}, Cuda{}, 7); }).code != 0);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_NOTHROW(gpu::launch("nothing", nothing, {dim3(2), dim3(64)}, Cuda{}, 7));
  CHECK_NOTHROW(gpu::synchronize(Cuda{}));
}
