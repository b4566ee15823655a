// Kernels of a convolution in groups of channels, or with a dilated kernel: four channels a thread. What
// these meet on the other side is the same channels (depthwise), or a few.
#pragma once
#include "../core/round.hpp"
#include "below.cuh"
#include "norm.cuh"

namespace kern::gpu {

/// What four channels, in groups of `group` of `channels`, meet where groups are of `other`.
struct GroupFour {
  int at[vec_size];
  __device__ GroupFour(int channel, int channels, int group, int other) {
#pragma unroll
    for (int l = 0; l < vec_size; ++l) at[l] = lesser(channel + l, channels - 1) / group * other;
  }
  template <class T>
  __device__ Vec<T> load_from(const T* p, bool same) const {
    if (same) return load(p + at[0]);
    Vec<T> v;
    if (at[0] == at[vec_size - 1]) {
      const T one = p[at[0]];
#pragma unroll
      for (int l = 0; l < vec_size; ++l) v.at[l] = one;
    } else {
#pragma unroll
      for (int l = 0; l < vec_size; ++l) v.at[l] = p[at[l]];
    }
    return v;
  }
};

/// A run of outputs of a row a thread.
template <class T, class D, class Chain>
__global__ void grouped_forward(D d, int first, int n, ForwardPass<T> p, Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const GroupedContraction c = d.get();
  const int groups = c.cols / vec_size, runs = math::ceil_div(c.out_w(), pixels_a_thread);
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % runs) * pixels_a_thread, row = int(place / runs % c.out_h()),
            sample = int(place / runs / c.out_h());
  if (sample >= n) return;
  const GroupFour in(channel, c.co, c.group_out(), c.group_in());
  const T* const x = p.x + std::ptrdiff_t(sample) * c.in_size();
  Vec<T> sum[pixels_a_thread] = {};
  const T* w = p.w.weight + channel;
  for (int a = 0; a < c.kh; ++a)
    for (int b = 0; b < c.kw; ++b)
      for (int k = 0; k < c.group_in(); ++k, w += c.cols) {
        const Vec<T> v = load(w);
#pragma unroll
        for (int q = 0; q < pixels_a_thread; ++q) {
          if (column + q >= c.out_w()) break;
          const Vec<T> from = in.load_from(x + c.in_at(row, column + q, a, b) + k, c.depthwise());
#pragma unroll
          for (int l = 0; l < vec_size; ++l) sum[q].at[l] += from.at[l] * v.at[l];
        }
      }
  const Vec<T> bias = p.w.bias ? load(p.w.bias + channel) : Vec<T>{};
  T* const y = p.y + std::ptrdiff_t(sample) * c.out_size() + c.out_origin() + row * c.out_pitch() + channel;
#pragma unroll
  for (int q = 0; q < pixels_a_thread; ++q) {
    if (column + q >= c.out_w()) break;
#pragma unroll
    for (int l = 0; l < vec_size; ++l)
      sum[q].at[l] = channel + l < c.co
                         ? chain.template bind<T>({first + sample, channel + l, c.co}, draw)
                               .forward(sum[q].at[l] + bias.at[l], row * c.out_w() + column + q)
                         : T(0);
    put(y + (column + q) * c.cols, sum[q]);
  }
}

/// dx of one input pixel, taken back through the stage below.
template <class T, class D, class Under>
__global__ void grouped_data_gradient(D d, int first, int n, BackwardPass<T> p, Under below,
                                      StepDraw at_step) {
  const ops::Draw draw = at_step;
  const GroupedContraction c = d.get();
  const int groups = c.ci / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % c.w), row = int(place / c.w % c.h), sample = int(place / c.w / c.h);
  if (sample >= n) return;
  const T* const dy = p.dy + std::ptrdiff_t(sample) * c.out_size() + c.out_origin();
  Vec<T> sum{};
  for (int a = 0; a < c.kh; ++a) {
    const int i = row - a * c.dilation_h;
    if (i < 0 || i % c.stride_h != 0 || i / c.stride_h >= c.out_h()) continue;
    for (int b = 0; b < c.kw; ++b) {
      const int j = column - b * c.dilation_w;
      if (j < 0 || j % c.stride_w != 0 || j / c.stride_w >= c.out_w()) continue;
      const T* const g = dy + i / c.stride_h * c.out_pitch() + j / c.stride_w * c.cols;
      const T* const w = p.w.weight + std::ptrdiff_t(a * c.kw + b) * c.group_in() * c.cols;
      if (c.depthwise()) {
        const Vec<T> out = load(g + channel), v = load(w + channel);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) sum.at[l] += out.at[l] * v.at[l];
      } else {
#pragma unroll
        for (int l = 0; l < vec_size; ++l) {
          const int in = channel + l, from = in / c.group_in() * c.group_out();
          if (in >= c.in) break;
          for (int o = 0; o < c.group_out(); ++o)
            sum.at[l] += g[from + o] * w[in % c.group_in() * c.cols + from + o];
        }
      }
    }
  }
  const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size();
  const int e = (row * c.w + column) * c.ci + channel;
  put(p.dx + in + e, undo(below, sum, p.x + in, first + sample, e, draw));
}

/// Part blockIdx.y of dw and, behind it, of db over its share of n samples' outputs: a block has one product
/// of 8 groups of four output channels, 32 outputs at a time.
template <class T, class D>
__global__ void __launch_bounds__(norm_groups* norm_rows)
    grouped_weight_gradient(D d, int n, BackwardPass<T> p) {
  const GroupedContraction c = d.get();
  const int tiles = math::ceil_div(c.cols, norm_groups * vec_size), product = int(blockIdx.x) / tiles;
  const int channel = (int(blockIdx.x) % tiles * norm_groups + int(threadIdx.x) % norm_groups) * vec_size;
  const int tap = product / c.group_in(), pixels = c.out_h() * c.out_w();
  const int from = c.tap_at(tap / c.kw, tap % c.kw) + product % c.group_in();
  const long outputs = long(n) * pixels, parts = long(gridDim.y), last = outputs * (blockIdx.y + 1) / parts;
  const bool idle = channel >= c.cols;
  const GroupFour in(channel, c.co, c.group_out(), c.group_in());
  Vec<T> products{}, sum{};
  for (long r = outputs * blockIdx.y / parts + threadIdx.x / norm_groups; !idle && r < last; r += norm_rows) {
    const int sample = int(r / pixels), i = int(r % pixels) / c.out_w(), j = int(r % pixels) % c.out_w();
    const Vec<T> g = load(p.dy + std::ptrdiff_t(sample) * c.out_size() + c.out_origin() + i * c.out_pitch() +
                          j * c.cols + channel),
                 x = in.load_from(p.x + std::ptrdiff_t(sample) * c.in_size() + c.in_at(i, j, 0, 0) + from,
                                  c.depthwise());
#pragma unroll
    for (int l = 0; l < vec_size; ++l) products.at[l] += g.at[l] * x.at[l], sum.at[l] += g.at[l];
  }
  add_norm_rows(idle, products, sum, [&](const Vec<T>& all_products, const Vec<T>& all_sums) {
    T* const part = p.dw + std::ptrdiff_t(blockIdx.y) * (c.weight_size() + c.bias_size());
    put(part + product * c.cols + channel, all_products);
    if (product == 0) put(part + c.weight_size() + channel, all_sums);
  });
}

/// Parts that a batch's outputs are cut into for the weight gradient.
KERN_HOST_DEVICE constexpr int gradient_parts(const GroupedContraction& c) {
  return greater(8, lesser(64, (1 << 20) / (c.weight_size() + c.bias_size())));
}

}  // namespace kern::gpu
