// Kernels of a log-softmax.
#pragma once
#include "../ops/log_softmax.hpp"

namespace kern::gpu {

/// One sample a thread.
template <class T>
__global__ void log_softmax_forward(LogSoftmaxRows d, int n, const T* x, T* y) {
  const int sample = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample < n)
    ops::log_softmax_forward(d, x + std::ptrdiff_t(sample) * d.in_size(),
                             y + std::ptrdiff_t(sample) * d.out_size());
}
template <class T>
__global__ void log_softmax_backward(LogSoftmaxRows d, int n, const T* y, const T* dy, T* dx) {
  const int sample = int(blockIdx.x * blockDim.x + threadIdx.x);
  const std::ptrdiff_t at = std::ptrdiff_t(sample) * d.out_size();
  if (sample < n) ops::log_softmax_backward(d, y + at, dy + at, dx + at);
}

}  // namespace kern::gpu
