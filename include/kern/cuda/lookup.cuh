// Kernels of an embedding.
#pragma once
#include "../core/round.hpp"
#include "below.cuh"

namespace kern::gpu {

/// Four elements of one position a thread.
template <class T, class Chain>
__global__ void lookup_forward(Lookup s, int first, int n, ForwardPass<T> p, Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const int groups = s.cols / vec_size;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size, i = int(item / groups % s.positions),
            sample = int(item / groups / s.positions);
  if (sample >= n) return;
  Vec<T> v =
      load(p.w.weight + std::ptrdiff_t(p.x[std::ptrdiff_t(sample) * s.in_size() + i]) * s.cols + channel);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    v.at[l] = channel + l < s.c
                  ? chain.template bind<T>({first + sample, channel + l, s.c}, draw).forward(v.at[l], i)
                  : T(0);
  put(p.y + std::ptrdiff_t(sample) * s.out_size() + s.out_origin() + i * s.out_pitch() + channel, v);
}

/// Rows of a block. It goes over all of a batch's indices, in order, and adds what is of its rows.
inline constexpr int lookup_threads = 256, most_lookup_blocks = 1024;
KERN_HOST_DEVICE constexpr int rows_a_block(const Lookup& s) {
  return math::ceil_div(s.rows, most_lookup_blocks);
}

template <class T>
__global__ void __launch_bounds__(lookup_threads) lookup_gradient(Lookup s, int n, BackwardPass<T> p) {
  __shared__ int places[lookup_threads], found[lookup_threads / 32];
  const int first = int(blockIdx.x) * rows_a_block(s), last = lesser(first + rows_a_block(s), s.rows);
  const int all = n * s.positions, mine = int(threadIdx.x) * vec_size, step = lookup_threads * vec_size;
  for (int e = first * s.cols + mine; e < last * s.cols; e += step) put(p.dw + e, Vec<T>{});
  __syncthreads();
  for (int from = 0; from < all; from += lookup_threads) {
    const int place = from + int(threadIdx.x), row = place < all ? int(p.x[place]) : -1;
    const bool here = row >= first && row < last && row != s.padding;
    const unsigned lanes_here = __ballot_sync(~0u, here), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) found[warp] = __popc(lanes_here);
    __syncthreads();
    int count = 0, before = 0;
    for (unsigned w = 0; w < lookup_threads / 32; ++w) {
      if (w == warp) before = count;
      count += found[w];
    }
    if (here) places[before + __popc(lanes_here & ((1u << lane) - 1))] = place;
    __syncthreads();
    for (int channel = mine; channel < s.cols; channel += step)  // the same thread adds to an element always
      for (int k = 0; k < count; ++k) {
        const int at = places[k], sample = at / s.positions;
        T* const to = p.dw + std::ptrdiff_t(p.x[at]) * s.cols + channel;
        Vec<T> sum = load(to);
        const Vec<T> g = load(p.dy + std::ptrdiff_t(sample) * s.out_size() + s.out_origin() +
                              at % s.positions * s.out_pitch() + channel);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) sum.at[l] += g.at[l];
        put(to, sum);
      }
    __syncthreads();
  }
}

}  // namespace kern::gpu
