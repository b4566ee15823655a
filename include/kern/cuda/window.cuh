// Kernels of a max over windows, and of pointwise ops alone.
#pragma once
#include "below.cuh"

namespace kern::gpu {

/// One output, 4 channels a thread.
template <class T, class D, class Chain>
__global__ void window_forward(D d, int first, int n, const T* x, T* y, WindowIndex* argmax, Chain chain,
                               StepDraw at_step) {
  const Draw draw = at_step;
  const Window s = d.get();
  const int groups = s.cols / vec_size, pixels = s.out_h() * s.out_w();
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size, pixel = int(item / groups % pixels),
            sample = int(item / groups / pixels);
  if (sample >= n) return;
  const int i = pixel / s.out_w(), j = pixel % s.out_w();
  const int top = i * s.stride_h - s.pad_h, left = j * s.stride_w - s.pad_w;
  const T* const in = x + std::ptrdiff_t(sample) * s.in_size() + channel;
  Vec<T> most{};
  IndexVec won{};
  bool any = false;
  for (int a = max(0, -top); a < min(s.kh, s.h - top); ++a)
    for (int b = max(0, -left); b < min(s.kw, s.w - left); ++b) {
      const Vec<T> v = load(in + ((top + a) * s.w + left + b) * s.cols);
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        if (!any || v.at[l] > most.at[l] || v.at[l] != v.at[l])
          most.at[l] = v.at[l], won.at[l] = WindowIndex(a * s.kw + b);
      any = true;
    }
  const std::ptrdiff_t e =
      std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    most.at[l] =
        channel + l < s.c
            ? chain.template bind<T>({first + sample, channel + l, s.c}, draw).forward(most.at[l], pixel)
            : T(0);
  put(y + e, most);
  if (argmax) put(argmax + e, won);
}

/// dx of one input pixel, 4 channels a thread: the sum of dy over the windows that it won, in order; taken
/// back through the stage below.
template <class T, class D, class Under>
__global__ void window_backward(D d, int first, int n, BackwardPass<T> p, Under below, StepDraw at_step) {
  const Draw draw = at_step;
  const Window s = d.get();
  const int groups = s.cols / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % s.w), row = int(place / s.w % s.h), sample = int(place / s.w / s.h);
  if (sample >= n) return;
  const std::ptrdiff_t out = std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + channel;
  Vec<T> sum{};
  const int h = row + s.pad_h, w = column + s.pad_w;
  for (int i = max(0, (h - s.kh + s.stride_h) / s.stride_h); i < s.out_h() && i * s.stride_h <= h; ++i) {
    if (h - i * s.stride_h >= s.kh) continue;
    for (int j = max(0, (w - s.kw + s.stride_w) / s.stride_w); j < s.out_w() && j * s.stride_w <= w; ++j) {
      const int b = w - j * s.stride_w;
      if (b >= s.kw) continue;
      const int index = (h - i * s.stride_h) * s.kw + b;
      const std::ptrdiff_t e = out + i * s.out_pitch() + j * s.cols;
      const Vec<T> g = load(p.dy + e);
      IndexVec won{};
      if (s.kh * s.kw > 1) won = load(p.argmax + e);
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        if (won.at[l] == index) sum.at[l] += g.at[l];
    }
  }
  const std::ptrdiff_t in = std::ptrdiff_t(sample) * s.in_size();
  const int e = (row * s.w + column) * s.cols + channel;
  put(p.dx + in + e, undo(below, sum, p.x + in, first + sample, e, draw));
}

}  // namespace kern::gpu
