// Kernels of the largest, or the mean, over windows.
#pragma once
#include "below.cuh"

namespace kern::gpu {

/// One output, 4 channels a thread.
template <class T, class D, class Chain>
__global__ void window_forward(D d, int first, int n, const T* x, T* y, WindowIndex* argmax, Chain chain,
                               StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Window s = d.get();
  const int groups = s.cols / vec_size, pixels = s.out_h() * s.out_w();
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size, pixel = int(item / groups % pixels),
            sample = int(item / groups / pixels);
  if (sample >= n) return;
  const int i = pixel / s.out_w(), j = pixel % s.out_w();
  const Span rows = s.rows(i), columns = s.columns(j);
  const int top = i * s.stride_h - s.pad_h, left = j * s.stride_w - s.pad_w;
  const T* const in = x + std::ptrdiff_t(sample) * s.in_size() + channel;
  Vec<T> result{};
  IndexVec won{};
  bool any = false;
  for (int a = rows.first; a < rows.last; ++a)
    for (int b = columns.first; b < columns.last; ++b) {
      const Vec<T> v = load(in + (a * s.w + b) * s.cols);
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        if (s.pooling != pool_max)
          result.at[l] += v.at[l];
        else if (!any || v.at[l] > result.at[l] || v.at[l] != v.at[l])
          result.at[l] = v.at[l], won.at[l] = WindowIndex((a - top) * s.kw + b - left);
      any = true;
    }
  if (s.pooling != pool_max) {
    const T divisor = T(s.divisor(rows, columns));
#pragma unroll
    for (int l = 0; l < vec_size; ++l) result.at[l] /= divisor;
  }
  const std::ptrdiff_t e =
      std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + i * s.out_pitch() + j * s.cols + channel;
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    result.at[l] =
        channel + l < s.c
            ? chain.template bind<T>({first + sample, channel + l, s.c}, draw).forward(result.at[l], pixel)
            : T(0);
  put(y + e, result);
  if (argmax) put(argmax + e, won);
}

/// dx of one input pixel, 4 channels a thread: the sum of dy over the windows that it won, or of its share of
/// each, in order; taken back through the stage below.
template <class T, class D, class Under>
__global__ void window_backward(D d, int first, int n, BackwardPass<T> p, Under below, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Window s = d.get();
  const int groups = s.cols / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % s.w), row = int(place / s.w % s.h), sample = int(place / s.w / s.h);
  if (sample >= n) return;
  const std::ptrdiff_t out = std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + channel;
  Vec<T> sum{};
  const Span rows = s.windows_of_row(row), columns = s.windows_of_column(column);
  for (int i = rows.first; i < rows.last; ++i)
    for (int j = columns.first; j < columns.last; ++j) {
      const std::ptrdiff_t e = out + i * s.out_pitch() + j * s.cols;
      const Vec<T> g = load(p.dy + e);
      if (s.pooling != pool_max) {
        const T divisor = T(s.divisor(s.rows(i), s.columns(j)));
#pragma unroll
        for (int l = 0; l < vec_size; ++l) sum.at[l] += g.at[l] / divisor;
      } else {
        const int index = (row + s.pad_h - i * s.stride_h) * s.kw + column + s.pad_w - j * s.stride_w;
        const IndexVec won = load(p.argmax + e);
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
