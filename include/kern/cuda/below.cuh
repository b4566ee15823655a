// The kernel that makes a stage's dL/dy takes it back through the stage's pointwise ops while it is in
// registers.
#pragma once
#include "../core/known.hpp"
#include "../ops/chain.hpp"
#include "tile.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// How a stage's output is stored: channels, as stored, width, border.
struct Stored {
  int channels, cols, w, border_h, border_w;
};
KERN_HOST_DEVICE constexpr Stored stored(const Contraction& c) {
  return {c.co, c.cols, c.out_w(), c.border_h, c.border_w};
}
KERN_HOST_DEVICE constexpr Stored stored(const GroupedContraction& c) {
  return {c.co, c.cols, c.out_w(), c.border_h, c.border_w};
}
KERN_HOST_DEVICE constexpr Stored stored(const Lookup& s) { return {s.c, s.cols, 1, s.border_h, s.border_w}; }
KERN_HOST_DEVICE constexpr Stored stored(const Window& s) {
  return {s.c, s.cols, s.out_w(), s.border_h, s.border_w};
}
KERN_HOST_DEVICE constexpr Stored stored(const Pointwise& s) {
  return {s.c, s.cols, s.w, s.border_h, s.border_w};
}
KERN_HOST_DEVICE constexpr Stored stored(const Norm& s) { return {s.c, s.cols, s.w, s.border_h, s.border_w}; }
KERN_HOST_DEVICE constexpr Stored stored(const Join& s) { return {s.c, s.cols, s.w, s.border_h, s.border_w}; }
KERN_HOST_DEVICE constexpr Stored stored(const RowNorm& s) {
  return {s.c, s.cols, s.w, s.border_h, s.border_w};
}
KERN_HOST_DEVICE constexpr Stored stored(const Dense& d) { return {d.co, d.cols, 1, 0, 0}; }
KERN_HOST_DEVICE constexpr Stored stored(const SoftmaxRows& r) {
  return {r.c, r.cols, r.rows * r.pixels, 0, 0};
}

/// Of the stage's output.
KERN_HOST_DEVICE constexpr Border border(NoBelow) { return {0, 0}; }
template <class D, class Chain>
KERN_HOST_DEVICE constexpr Border border(const Below<D, Chain>& below) {
  const Stored s = stored(below.d.get());
  return {s.border_h, s.border_w};
}
/// The same from the type, where it knows.
template <class Under>
inline constexpr Border known_border{};
template <class D, class Chain>
inline constexpr Border known_border<Below<D, Chain>>{stored(D::value).border_h, stored(D::value).border_w};

/// Of a stage above one of type Under.
template <class T, class Under>
KERN_HOST_DEVICE constexpr SlidingTile data_gradient_tile_above(const Contraction& c) {
  return data_gradient_tile<T>(c, known_border<Under>);
}

/// dL/dy -> dL/d(what the chain got) of four elements, from e of a sample as stored on; y: that sample. In
/// the border anything.
template <class T, class D, class Chain>
__device__ Vec<T> undo(const Below<D, Chain>& below, Vec<T> dy, const T* y, int sample, int e,
                       ops::Draw draw) {
  const Stored s = stored(below.d.get());
  const unsigned cols = unsigned(s.cols), place = unsigned(e) / cols, pitch = unsigned(s.w + 2 * s.border_w);
  const int channel = int(unsigned(e) % cols);
  const int pixel = (int(place / pitch) - s.border_h) * s.w + int(place % pitch) - s.border_w;
  const Vec<T> out = load(y + e);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    dy.at[l] = below.chain.template bind<T>({sample, channel + l, s.channels}, draw)
                   .backward(dy.at[l], out.at[l], pixel);
  return dy;
}
template <class T, class D>
__device__ Vec<T> undo(const Below<D, ops::Chain<>>&, const Vec<T>& dy, const T*, int, int, ops::Draw) {
  return dy;
}
template <class T>
__device__ Vec<T> undo(NoBelow, const Vec<T>& dy, const T*, int, int, ops::Draw) {
  return dy;
}

/// The same for a whole batch, in place: four elements a thread.
template <class T, class Under>
__global__ void undo_chain(Under below, int first, int n, int size, const T* y, T* dy, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int e = int(item % (size / vec_size)) * vec_size, sample = int(item / (size / vec_size));
  if (sample >= n) return;
  const std::ptrdiff_t at = std::ptrdiff_t(sample) * size;
  put(dy + at + e, undo(below, load(dy + at + e), y + at, first + sample, e, draw));
}

}  // namespace kern::gpu
