// A contraction's kernels. Activations are NHWC, weights [kh][kw][ci][cols], cols a multiple of 4:
// neighbouring threads take neighbouring channels.
#pragma once
#include "../core/known.hpp"
#include "../core/stage.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// Neighbouring outputs of a row that a thread works on where there is no pool.
inline constexpr int columns_a_thread = 4;

/// y = chain(pool(x * w + bias)): a thread has one pooled output (or a run of outputs), 4 channels. PH x PW:
/// the pool's window, 1 x 1 for none.
template <class T, int PH, int PW, class D, class Chain>
__global__ void convolve(D d, int first, int n, ForwardPass<T> p, Chain chain, Draw draw) {
  const Contraction c = d.get();
  constexpr bool pooled = PH * PW > 1;
  constexpr int TH = PH, TW = pooled ? PW : columns_a_thread;
  const int groups = c.cols / vec_size,
            columns = pooled ? c.out_w() : (c.out_w() + columns_a_thread - 1) / columns_a_thread;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int j = int(place % columns), i = int(place / columns % c.out_h());
  const int sample = int(place / columns / c.out_h());
  if (sample >= n) return;

  const T* const x = p.x + std::ptrdiff_t(sample) * c.in_size() + i * TH * c.stride_h * c.w * c.ci +
                     j * TW * c.stride_w * c.ci;
  const int step = c.stride_w * c.ci;
  // A run may hang over the edge: it then reads its last pixel again.
  int at[TW];
#pragma unroll
  for (int t = 0; t < TW; ++t) at[t] = pooled || j * TW + t < c.conv_w() ? t * step : 0;
  T sum[TH][TW][vec_size] = {};
  for (int a = 0; a < c.kh; ++a)
    for (int k = 0; k < c.kw * c.ci; ++k) {
      const Vec<T> w = load(p.w.weight + std::ptrdiff_t(a * c.kw * c.ci + k) * c.cols + channel);
#pragma unroll
      for (int s = 0; s < TH; ++s)
#pragma unroll
        for (int t = 0; t < TW; ++t) {
          const T v = x[(s * c.stride_h + a) * c.w * c.ci + at[t] + k];
#pragma unroll
          for (int l = 0; l < vec_size; ++l) sum[s][t][l] += v * w.at[l];
        }
    }

  const std::ptrdiff_t row = std::ptrdiff_t(sample) * c.out_size() + c.out_origin() + i * c.out_pitch();
  typename Chain::template Bound<T> op[vec_size];
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    op[l] = chain.template bind<T>({first + sample, channel + l, c.co}, draw);
  const Vec<T> bias = p.w.bias ? load(p.w.bias + channel) : Vec<T>{};
  if constexpr (pooled) {
    const std::ptrdiff_t e = row + j * c.cols + channel;
    Vec<T> y;
    IndexVec index;
#pragma unroll
    for (int l = 0; l < vec_size; ++l) {
      T top = sum[0][0][l];
      int won = 0;
#pragma unroll
      for (int q = 1; q < PH * PW; ++q) {  // the first of equal ones wins, NaN beats all
        const T v = sum[q / PW][q % PW][l];
        if (v > top || v != v) top = v, won = q;
      }
      y.at[l] = channel + l < c.co ? op[l].forward(top + bias.at[l], i * c.out_w() + j) : T(0);
      index.at[l] = WindowIndex(won);
    }
    store(p.y + e, y);
    if (p.argmax) store(p.argmax + e, index);
  } else {
#pragma unroll
    for (int t = 0; t < TW; ++t) {
      const int column = j * TW + t;
      if (column >= c.out_w()) break;
      Vec<T> y;
#pragma unroll
      for (int l = 0; l < vec_size; ++l)
        y.at[l] =
            channel + l < c.co ? op[l].forward(sum[0][t][l] + bias.at[l], i * c.out_w() + column) : T(0);
      store(p.y + row + column * c.cols + channel, y);
    }
  }
}

/// dL/dy -> dL/d(what the chain got), in place, for one sample, pixel and 4 channels a thread. S: Contraction
/// or Window.
template <class T, class D, class Chain>
__global__ void undo_chain(D d, int co, int first, int n, const T* y, T* dy, Chain chain, Draw draw) {
  const auto s = d.get();
  const int groups = s.cols / vec_size, pixels = s.out_h() * s.out_w();
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size, pixel = int(item / groups % pixels);
  const int sample = int(item / groups / pixels);
  if (sample >= n) return;
  const std::ptrdiff_t e = std::ptrdiff_t(sample) * s.out_size() + s.out_origin() +
                           pixel / s.out_w() * s.out_pitch() + pixel % s.out_w() * s.cols + channel;
  const Vec<T> out = load(y + e);
  Vec<T> g = load(dy + e);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    g.at[l] =
        chain.template bind<T>({first + sample, channel + l, co}, draw).backward(g.at[l], out.at[l], pixel);
  store(dy + e, g);
}

/// dx[h][w][k] = sum over the outputs that read it, in the order of kernel taps and channels: one input
/// pixel, 4 of its channels a thread. dy: after undo_chain.
template <class T, class D>
__global__ void convolve_data_gradient(D d, int n, const T* weight, const T* dy, const WindowIndex* argmax,
                                       T* dx) {
  const Contraction c = d.get();
  const int groups = (c.ci + vec_size - 1) / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % c.w), row = int(place / c.w % c.h), sample = int(place / c.w / c.h);
  if (sample >= n) return;
  const int some = min(vec_size, c.ci - channel);
  T sum[vec_size] = {};
  for (int a = 0; a < c.kh; ++a) {
    const int i = (row - a) / c.stride_h;
    if (row < a || (row - a) % c.stride_h != 0 || i >= c.out_h() * c.pool_h) continue;
    for (int b = 0; b < c.kw; ++b) {
      const int j = (column - b) / c.stride_w;
      if (column < b || (column - b) % c.stride_w != 0 || j >= c.out_w() * c.pool_w) continue;
      const int in_window = i % c.pool_h * c.pool_w + j % c.pool_w;
      const std::ptrdiff_t e = std::ptrdiff_t(sample) * c.out_size() + c.out_origin() +
                               i / c.pool_h * c.out_pitch() + j / c.pool_w * c.cols;
      const T* const w = weight + std::ptrdiff_t((a * c.kw + b) * c.ci + channel) * c.cols;
      for (int o = 0; o < c.cols; o += vec_size) {
        Vec<T> g = load(dy + e + o);
        if (argmax) {
          const IndexVec won = load(argmax + e + o);
#pragma unroll
          for (int l = 0; l < vec_size; ++l)
            if (won.at[l] != in_window) g.at[l] = T(0);
        }
#pragma unroll
        for (int k = 0; k < vec_size; ++k) {
          if (k >= some) break;
          const Vec<T> v = load(w + k * c.cols + o);
#pragma unroll
          for (int l = 0; l < vec_size; ++l) sum[k] += g.at[l] * v.at[l];
        }
      }
    }
  }
  T* const to = dx + std::ptrdiff_t(sample) * c.in_size() + (row * c.w + column) * c.ci + channel;
#pragma unroll
  for (int k = 0; k < vec_size; ++k)
    if (k < some) to[k] = sum[k];
}

/// Parts that the samples of a batch are cut into: each sums its own weight gradient, gather() adds them in
/// order.
inline constexpr int gradient_parts = 16;

/// Part blockIdx.y of dw, [k][cols], and behind it of db, [cols]: one k (or the bias) and 4 channels a
/// thread. dy: after undo_chain.
template <class T, class D>
__global__ void convolve_weight_gradient(D d, int n, const T* x, const T* dy, const WindowIndex* argmax,
                                         T* parts) {
  const Contraction c = d.get();
  const int groups = c.cols / vec_size, item = int(blockIdx.x * blockDim.x + threadIdx.x);
  const int o = item % groups * vec_size, k = item / groups;
  if (k > c.k()) return;
  const bool bias = k == c.k();
  const int from = bias ? 0 : k / (c.kw * c.ci) * c.w * c.ci + k % (c.kw * c.ci);
  const int first = int(long(n) * blockIdx.y / gradient_parts),
            last = int(long(n) * (blockIdx.y + 1) / gradient_parts);
  T sum[vec_size] = {};
  for (int sample = first; sample < last; ++sample) {
    const T* const in = x + std::ptrdiff_t(sample) * c.in_size() + from;
    const std::ptrdiff_t out = std::ptrdiff_t(sample) * c.out_size() + c.out_origin();
    for (int i = 0; i < c.out_h(); ++i)
      for (int j = 0; j < c.out_w(); ++j) {
        const std::ptrdiff_t e = out + i * c.out_pitch() + j * c.cols + o;
        const Vec<T> g = load(dy + e);
        IndexVec won{};
        if (argmax) won = load(argmax + e);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) {
          const int h = (i * c.pool_h + won.at[l] / c.pool_w) * c.stride_h,
                    w = (j * c.pool_w + won.at[l] % c.pool_w) * c.stride_w;
          sum[l] += bias ? g.at[l] : g.at[l] * in[(h * c.w + w) * c.ci];
        }
      }
  }
  Vec<T> v;
#pragma unroll
  for (int l = 0; l < vec_size; ++l) v.at[l] = sum[l];
  store(parts + std::ptrdiff_t(blockIdx.y) * (c.weight_size() + c.cols) + std::ptrdiff_t(k) * c.cols + o, v);
}

/// to[i] = the sum of the parts' i-th elements, in order.
template <class T>
__global__ void add_parts(int n, const T* parts, int step, T* to) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  T sum = parts[i];
  for (int p = 1; p < gradient_parts; ++p) sum += parts[std::ptrdiff_t(p) * step + i];
  to[i] = sum;
}

}  // namespace kern::gpu
