// Does a bit of everything, in a fixed order, while PTXCPU_FAIL makes one call fail. The error must name the
// call, and nothing may be lost: the same works right after. Exit status 3: it was so. 4: nothing failed.
#include <algorithm>
#include <cstdio>

#include "kern/cuda/cuda.hpp"

using namespace kern;

namespace {

const Tensor<float, Shape<dyn, 4>> input{1, 2, 3, 4, 5, 6, 7, 8};

/// malloc 1, memset 1, memcpy 1, sync 1: to a device. malloc 2: another tensor, launch 1: fill. malloc 3,
/// launch 2: rand. memcpy 2: on the device. memcpy 3, sync 2: back. malloc 4: pinned.
bool everything(Tensor<float, Shape<dyn, 4>, Cuda>& kept) {
  const gpu::Stream stream;
  const auto a = input.to(stream.where());
  auto b = Tensor<float, Shape<dyn, 4>, Cuda>::full(3, stream.where(), 2);
  const auto c = rand<float, Shape<dyn, 4>>(Seed{1}, stream.where(), 2);
  b.copy_from(a);
  const auto back = b.to(Host{});
  const gpu::PinnedBuffer<float> pinned(8);
  if (!std::equal(back.begin(), back.end(), input.begin(), input.end())) return false;
  kept = b.clone();
  return true;
}

}  // namespace

int main() {
  try {
    Tensor<float, Shape<dyn, 4>, Cuda> kept;
    try {
      if (!everything(kept)) return 1;
    } catch (const CudaError& e) {
      std::printf("%s\n", e.what());
      if (e.code == int(cudaErrorLaunchFailure)) return 3;  // the device is lost, as CUDA has it
      if (kept.size() != 0) return 1;                       // as it was
      if (!everything(kept) || kept.size() != 8) return 1;
      return cudaGetLastError() == cudaSuccess ? 3 : 1;
    }
    return 4;
  } catch (const Error& e) {
    std::printf("unexpected: %s\n", e.what());
    return 1;
  }
}
