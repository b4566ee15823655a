// Which GPU, and in which order its work is done.
#pragma once

#ifdef __CUDACC__
#include "error.hpp"
#include "facts.hpp"
#endif

struct CUstream_st;  // cudaStream_t points to it

namespace kern {

namespace gpu {
#ifdef __CUDACC__
template <class T>
class Backend;
#else
/// The words of a compile error.
template <class T>
struct a_model_on_Cuda_is_compiled_by_nvcc {};
template <class T>
using Backend = a_model_on_Cuda_is_compiled_by_nvcc<T>;
#endif
}  // namespace gpu

/// Where a model or a tensor lives: an NVIDIA GPU. Work on one stream is done in order; null is the device's
/// default stream, another is that of a gpu::Stream, which must outlive all that uses it.
struct Cuda {
  int device = 0;
  CUstream_st* stream = nullptr;
  static constexpr const char* name = "cuda";
  /// What runs a model's stages.
  template <class T>
  using Backend = gpu::Backend<T>;
  friend bool operator==(const Cuda&, const Cuda&) = default;
};

#ifdef __CUDACC__
namespace gpu {

/// Throws what the doctor says about a device that can't be used: ArgumentError for a number that there
/// isn't, otherwise CudaError.
[[noreturn, gnu::cold]] inline void fail_device(cudaError_t error, int device) {
  cudaGetLastError();
  const Verdict v = diagnose(cuda_facts(), device);
  const std::string call = text("cudaSetDevice(", device, ")");
  if (v.kind == Verdict::Kind::device_out_of_range) throw ArgumentError(v.text);
  const std::string why = v.usable() ? cudaGetErrorString(error) : text(v.text, " ", v.remedy);
  throw CudaError(call, int(error), cudaGetErrorName(error), why);
}

/// Makes a device the current one as long as it lives, then the one before. Throws as fail_device.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaError_t error = cudaGetDevice(&before_);
    if (error == cudaSuccess && before_ != device) {
      error = cudaSetDevice(device);
      changed_ = error == cudaSuccess;
    }
    if (error != cudaSuccess) fail_device(error, device);
  }
  explicit OnDevice(const Cuda& where) : OnDevice(where.device) {}
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace gpu
#endif

}  // namespace kern
