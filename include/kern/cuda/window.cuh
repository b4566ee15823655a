// Kernels of a max over windows, of log-softmax, and of what comes in.
#pragma once
#include "../core/known.hpp"
#include "../core/stage.hpp"
#include "../ops/log_softmax.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// One output, 4 channels a thread.
template <class T, class D, class Chain>
__global__ void window_forward(D d, int first, int n, const T* x, T* y, WindowIndex* argmax, Chain chain,
                               Draw draw) {
  const Window s = d.get();
  const int groups = s.cols / 4, pixels = s.out_h() * s.out_w();
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * 4, pixel = int(item / groups % pixels),
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
      for (int l = 0; l < 4; ++l)
        if (!any || v.at[l] > most.at[l] || v.at[l] != v.at[l])
          most.at[l] = v.at[l], won.at[l] = WindowIndex(a * s.kw + b);
      any = true;
    }
  const std::ptrdiff_t e =
      std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
#pragma unroll
  for (int l = 0; l < 4; ++l)
    most.at[l] =
        channel + l < s.c
            ? chain.template bind<T>({first + sample, channel + l, s.c}, draw).forward(most.at[l], pixel)
            : T(0);
  store(y + e, most);
  if (argmax) store(argmax + e, won);
}

/// dx of one input pixel, 4 channels a thread: the sum of dy over the windows that it won, in order.
template <class T, class D>
__global__ void window_backward(D d, int n, const T* dy, const WindowIndex* argmax, T* dx) {
  const Window s = d.get();
  const int groups = s.cols / 4;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * 4;
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
      const Vec<T> g = load(dy + e);
      IndexVec won{};
      if (argmax) won = load(argmax + e);
#pragma unroll
      for (int l = 0; l < 4; ++l)
        if (won.at[l] == index) sum.at[l] += g.at[l];
    }
  }
  store(dx + std::ptrdiff_t(sample) * s.in_size() + (row * s.w + column) * s.cols + channel, sum);
}

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

/// x = samples in the stored layout, borders and padding 0: one stored element a thread.
template <class T>
__global__ void store_input(Entry e, int n, const T* samples, T* x) {
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int stored = int(item % e.stored_size()), sample = int(item / e.stored_size());
  if (sample >= n) return;
  const int channel = stored % e.cols, column = stored / e.cols % (e.w + 2 * e.border_w) - e.border_w,
            row = stored / e.pitch() - e.border_h;
  const bool inside = channel < e.c && column >= 0 && column < e.w && row >= 0 && row < e.h;
  x[item] = inside ? samples[std::ptrdiff_t(sample) * e.size() + (channel * e.h + row) * e.w + column] : T(0);
}

/// f(row).
template <class F>
__global__ void each_row(int n, F f) {
  const int row = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < n) f(row);
}
/// op(w[i], g[i], v[i]).
template <class T, class Op>
__global__ void update_each(std::size_t n, Op op, T* w, const T* g, T* v) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T wi = w[i], vi = v ? v[i] : T(0);
  op(wi, g[i], vi);
  w[i] = wi;
  if (v) v[i] = vi;
}

}  // namespace kern::gpu
