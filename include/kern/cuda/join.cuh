// Kernels of branches that come together: four elements a thread.
#pragma once
#include "pointwise.cuh"

namespace kern::gpu {

/// Channels from k on of those that an input gives to a pixel of the output; 0 beyond them, and below 0.
template <class T>
__device__ Vec<T> joined_part(const Join& s, const StoredImage& in, int channels, const T* x, int k,
                              int pixel) {
  if (s.pixel_by_pixel(in) && k >= 0 && k % vec_size == 0 && k + vec_size <= in.cols)
    return load(x + in.at(k, pixel));
  Vec<T> v{};
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    if (k + l >= 0 && k + l < channels) v.at[l] = x[s.in_at(in, k + l, pixel)];
  return v;
}

template <class T, class D, class Chain>
__global__ void join_forward(D d, int first, int n, const T* a, const T* b, T* y, Chain chain,
                             StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Join s = d.get();
  const PointwiseItem at(s);
  if (at.sample >= n) return;
  const int of_a = s.channels(0);
  Vec<T> v = joined_part(s, s.a, of_a, a + std::ptrdiff_t(at.sample) * s.a.size(), at.channel, at.pixel);
  const Vec<T> other = joined_part(s, s.b, s.channels(1), b + std::ptrdiff_t(at.sample) * s.b.size(),
                                   at.channel - s.first_channel(1), at.pixel);
#pragma unroll
  for (int l = 0; l < vec_size; ++l) {
    const ops::Place place{first + at.sample, at.channel + l, s.c};
    if (s.joining == join_sum)
      v.at[l] += other.at[l];
    else if (place.channel >= of_a)
      v.at[l] = other.at[l];
    v.at[l] = place.channel < s.c ? chain.template bind<T>(place, draw).forward(v.at[l], at.pixel) : T(0);
  }
  put(y + at.out, v);
}

/// Where a thread's elements of an image stand.
struct ImageItem {
  int channel, pixel, sample, e;  // e: within the sample
  __device__ explicit ImageItem(const StoredImage& s) {
    const int groups = s.cols / vec_size;
    const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
    channel = int(item % groups) * vec_size;
    pixel = int(item / groups % (s.h * s.w));
    sample = int(item / groups / (s.h * s.w));
    e = s.at(channel, pixel);
  }
};

/// dx of an input, taken back through the stage that gives it.
template <int Which, class T, class D, class Under>
__global__ void join_backward(D d, int first, int n, const T* x, const T* dy, T* dx, Under below,
                              StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Join s = d.get();
  const StoredImage in = s.input(Which);
  const ImageItem at(in);
  if (at.sample >= n) return;
  const int behind = s.first_channel(Which);
  dy += std::ptrdiff_t(at.sample) * s.out_size();
  Vec<T> g{};
  if (s.pixel_by_pixel(in) && behind % vec_size == 0 && behind + at.channel + vec_size <= s.cols)
    g = load(dy + s.out_at(in, behind, at.channel, at.pixel));
  else
#pragma unroll
    for (int l = 0; l < vec_size; ++l)
      if (at.channel + l < in.c) g.at[l] = dy[s.out_at(in, behind, at.channel + l, at.pixel)];
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    if (at.channel + l >= in.c) g.at[l] = T(0);
  const std::ptrdiff_t sample = std::ptrdiff_t(at.sample) * in.size();
  put(dx + sample + at.e, undo(below, g, x + sample, first + at.sample, at.e, draw));
}

/// to += from; borders are left alone.
template <class T>
__global__ void add_images(StoredImage s, int n, const T* from, T* to) {
  const ImageItem at(s);
  if (at.sample >= n) return;
  const std::ptrdiff_t e = std::ptrdiff_t(at.sample) * s.size() + at.e;
  Vec<T> v = load(to + e);
  const Vec<T> more = load(from + e);
#pragma unroll
  for (int l = 0; l < vec_size; ++l) v.at[l] += more.at[l];
  put(to + e, v);
}

}  // namespace kern::gpu
