// The facts about CUDA on this machine, for the doctor. Works with any compiler: without nvcc there is one
// fact, that the program was built without CUDA.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#ifdef __CUDACC__
#include <cuda_runtime_api.h>

#include "images.hpp"
#endif

#include "doctor.hpp"

namespace kern {

namespace gpu {

/// The driver's version in the text of /proc/driver/nvidia/version: its first word of digits and points.
inline std::string driver_version_in(std::string_view text) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ' ' && text[i] != '\n' && text[i] != '\t') {
      word += text[i];
      continue;
    }
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
    word.clear();
  }
  return "";
}

}  // namespace gpu

// Two names for the linker: one program may hold files of both compilers.
#ifdef __CUDACC__
inline namespace with_cuda {

/// What there is. Fails never: what can't be found out is missing.
inline CudaFacts cuda_facts() {
  CudaFacts f;
  f.built = true;
  f.toolkit = __CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10;
  f.images = gpu::compiled_images();
  cudaRuntimeGetVersion(&f.runtime);
  cudaDriverGetVersion(&f.driver_cuda);
  if (std::FILE* file = std::fopen("/proc/driver/nvidia/version", "r")) {
    char text[512];
    f.driver = gpu::driver_version_in({text, std::fread(text, 1, sizeof text, file)});
    std::fclose(file);
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) {
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp p;
      if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
        f.devices.push_back({"unknown", 0, 0});
        continue;
      }
      f.devices.push_back({p.name, p.major * 10 + p.minor, p.totalGlobalMem});
    }
  } else if (error != cudaErrorNoDevice) {
    f.error = text(cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
  }
  cudaGetLastError();
  return f;
}

}  // namespace with_cuda
#else
inline namespace without_cuda {

inline CudaFacts cuda_facts() { return {}; }

}  // namespace without_cuda
#endif

}  // namespace kern
