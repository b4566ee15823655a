// Kernels of pointwise ops that no other stage takes along: four elements a thread.
#pragma once
#include "below.cuh"

namespace kern::gpu {

/// Where a thread's elements of a Pointwise or a Norm stand.
struct PointwiseItem {
  int channel, pixel, sample;
  std::ptrdiff_t in, out;  // from the first sample on
  template <class Stage>
  __device__ explicit PointwiseItem(const Stage& s) {
    const int groups = s.cols / vec_size;
    const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
    channel = int(item % groups) * vec_size;
    pixel = int(item / groups % (s.h * s.w));
    sample = int(item / groups / (s.h * s.w));
    in = std::ptrdiff_t(sample) * s.in_size() + pixel * s.cols + channel;
    out = std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + pixel / s.w * s.out_pitch() +
          pixel % s.w * s.cols + channel;
  }
};

template <class T, class D, class Chain>
__global__ void pointwise_forward(D d, int first, int n, const T* x, T* y, Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const auto s = d.get();
  const PointwiseItem at(s);
  if (at.sample >= n) return;
  Vec<T> v = load(x + at.in);
#pragma unroll
  for (int l = 0; l < vec_size; ++l) {
    const ops::Place place{first + at.sample, at.channel + l, s.c};
    v.at[l] = place.channel < s.c ? chain.template bind<T>(place, draw).forward(v.at[l], at.pixel) : T(0);
  }
  put(y + at.out, v);
}

/// dx, taken back through the stage below.
template <class T, class D, class Chain, class Under>
__global__ void pointwise_backward(D d, int first, int n, BackwardPass<T> p, Chain chain, Under below,
                                   StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Pointwise s = d.get();
  const PointwiseItem at(s);
  if (at.sample >= n) return;
  const Vec<T> x = load(p.x + at.in);
  Vec<T> g = load(p.dy + at.out);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    g.at[l] = chain.template bind<T>({first + at.sample, at.channel + l, s.c}, draw)
                  .backward_from_input(g.at[l], x.at[l], at.pixel);
  const std::ptrdiff_t sample = std::ptrdiff_t(at.sample) * s.in_size();
  put(p.dx + at.in, undo(below, g, p.x + sample, first + at.sample, int(at.in - sample), draw));
}

}  // namespace kern::gpu
