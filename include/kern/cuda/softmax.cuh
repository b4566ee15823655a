// Kernels of a softmax.
#pragma once
#include "../ops/softmax.hpp"
#include "below.cuh"

namespace kern::gpu {

/// One sample a thread.
template <class T>
__global__ void softmax_forward(SoftmaxRows d, int n, const T* x, T* y) {
  const int sample = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample < n)
    ops::softmax_forward(d, x + std::ptrdiff_t(sample) * d.in_size(),
                         y + std::ptrdiff_t(sample) * d.out_size());
}
/// dx, taken back through the stage below.
template <class T, class Under>
__global__ void softmax_backward(SoftmaxRows d, int first, int n, BackwardPass<T> p, Under below,
                                 StepDraw at_step) {
  const ops::Draw draw = at_step;
  const int sample = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample >= n) return;
  const std::ptrdiff_t at = std::ptrdiff_t(sample) * d.out_size();
  T* const dx = p.dx + at;
  ops::softmax_backward(d, p.y + at, p.dy + at, dx);
  if (d.cols % vec_size != 0) return;  // the net's input
  for (int e = 0; e < d.in_size(); e += vec_size)
    put(dx + e, undo(below, load(dx + e), p.x + at, first + sample, e, draw));
}

}  // namespace kern::gpu
