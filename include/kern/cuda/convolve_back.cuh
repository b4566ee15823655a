// A convolution's way back. dy: dL/d(what the stage's pointwise ops got), at the size after pooling.
#pragma once
#include "../core/round.hpp"
#include "below.cuh"
#include "convolve.cuh"

namespace kern::gpu {

/// dL/d(convolution before the pool) of 4 channels at (i, j): dy where that place won its window, else 0, as
/// outside the picture. dy, argmax: of one sample; channel: a multiple of 4.
template <class T>
__device__ Vec<T> unpooled(const Contraction& c, const T* dy, const WindowIndex* argmax, int i, int j,
                           int channel) {
  Vec<T> g{};
  if (i < 0 || j < 0 || i >= c.out_h() * c.pool_h || j >= c.out_w() * c.pool_w) return g;
  const unsigned row = unsigned(i), column = unsigned(j), high = unsigned(c.pool_h),
                 wide = unsigned(c.pool_w);
  const int e = c.out_origin() + int(row / high) * c.out_pitch() + int(column / wide) * c.cols + channel;
  g = load(dy + e);
  if (!c.pooled()) return g;
  const IndexVec won = load(argmax + e);
  const int here = int(row % high * wide + column % wide);
#pragma unroll
  for (int l = 0; l < vec_size; ++l)
    if (won.at[l] != here) g.at[l] = T(0);
  return g;
}

/// dx for a stride of 1, taken back through the stage below: a convolution of dL/d(convolution) with the
/// kernel turned. A block has a SlidingTile; a thread a run of pixels.
template <class T, int Channels, class D, class Under>
__global__ void __launch_bounds__(256)
    convolve_data_gradient(D d, SlidingTile tile, int first, BackwardPass<T> p, Under below,
                           StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Contraction c = d.get();
  Border around = border(below);
  if constexpr (D::complete) {
    around = known_border<Under>;
    tile = known_tile<data_gradient_tile_above<T, Under>, D>;
  }
  const Sliding s = backward_sliding(c, around);
  const SlidingTile t = tile;
  const SlidingPlace at(s, t);
  constexpr int Wide = pixels_a_thread;

  T* const staged_g = block_memory<T>();
  T* const staged_w = staged_g + t.in_elements(s);
  const T* const dy = p.dy + std::ptrdiff_t(at.sample) * c.out_size();
  const WindowIndex* const argmax =
      c.pooled() ? p.argmax + std::ptrdiff_t(at.sample) * c.out_size() : nullptr;
  T sum[1][Wide][Channels] = {};
  for (int o0 = 0; o0 < c.cols; o0 += t.depth)
    for (int a = 0; a < c.kh; a += t.taps) {
      stage_picture(s, t, [&](int to, int row, int column, int channel) {
        store(staged_g + to, unpooled(c, dy, argmax, around.h + at.row + row + a - (c.kh - 1),
                                      around.w + at.column * Wide + column - (c.kw - 1), o0 + channel));
      });
      // Two fours of output channels by as many input channels as a warp has: its loads are whole sectors,
      // and few of its stores fall on one bank.
      const unsigned wide = unsigned(t.channels), side = t.depth % 8 == 0 ? 2 : 1;
      for (unsigned e = threadIdx.x; e < unsigned(t.taps * c.kw * t.depth) / vec_size * wide;
           e += blockDim.x) {
        const unsigned far = e / side / wide, fours = unsigned(t.depth) / vec_size / side;
        const int k = int(e / side % wide), o = int(far % fours * side + e % side) * vec_size,
                  b = int(far / fours);  // row and column of the kernel
        const int channel = at.channel + k;
        const Vec<T> w =
            channel < c.ci
                ? load(p.w.weight + std::ptrdiff_t(((c.kh - a) * c.kw - 1 - b) * c.ci + channel) * c.cols +
                       o0 + o)
                : Vec<T>{};
#pragma unroll
        for (int l = 0; l < vec_size; ++l) staged_w[(b * t.depth + o + l) * t.channels + k] = w.at[l];
      }
      __syncthreads();
      if (!at.idle)
        slide(s, t, t.depth, staged_g + at.my_row * t.row_pitch(s) + at.my_first_column(s) * t.pitch(s),
              staged_w + at.my_channel, sum);
      __syncthreads();
    }
  if (at.idle) return;

  const int row = around.h + at.row + at.my_row;
  const std::ptrdiff_t sample = std::ptrdiff_t(at.sample) * c.in_size();
#pragma unroll
  for (int q = 0; q < Wide; ++q) {
    const int column = around.w + at.first_column(s) + q * t.columns;
    if (column >= c.w - around.w) break;
#pragma unroll
    for (int l0 = 0; l0 < Channels; l0 += vec_size) {
      const int channel = at.channel + at.my_channel + l0 / vec_size * t.channel_step(s),
                e = (row * c.w + column) * c.ci + channel;
      if (channel >= c.ci) break;
      Vec<T> v;
#pragma unroll
      for (int l = 0; l < vec_size; ++l) v.at[l] = sum[0][q][l0 + l];
      if (c.ci % vec_size == 0) {
        put(p.dx + sample + e, undo(below, v, p.x + sample, first + at.sample, e, draw));
      } else {  // the net's input
#pragma unroll
        for (int l = 0; l < vec_size; ++l)
          if (channel + l < c.ci) p.dx[sample + e + l] = v.at[l];
      }
    }
  }
}

/// dx for any stride: a thread has one input pixel, 4 of its channels, and sums in the order of kernel taps
/// and channels.
template <class T, class D, class Under>
__global__ void convolve_strided_data_gradient(D d, int first, int n, BackwardPass<T> p, Under below,
                                               StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Contraction c = d.get();
  const int groups = math::ceil_div(c.ci, vec_size);
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channel = int(item % groups) * vec_size;
  const long place = item / groups;
  const int column = int(place % c.w), row = int(place / c.w % c.h), sample = int(place / c.w / c.h);
  if (sample >= n) return;
  const int some = lesser(vec_size, c.ci - channel);
  const T* const dy = p.dy + std::ptrdiff_t(sample) * c.out_size();
  const WindowIndex* const argmax = c.pooled() ? p.argmax + std::ptrdiff_t(sample) * c.out_size() : nullptr;
  Vec<T> sum{};
  for (int a = 0; a < c.kh; ++a) {
    if (row < a || (row - a) % c.stride_h != 0) continue;
    for (int b = 0; b < c.kw; ++b) {
      if (column < b || (column - b) % c.stride_w != 0) continue;
      const T* const w = p.w.weight + std::ptrdiff_t((a * c.kw + b) * c.ci + channel) * c.cols;
      for (int o = 0; o < c.cols; o += vec_size) {
        const Vec<T> g = unpooled(c, dy, argmax, (row - a) / c.stride_h, (column - b) / c.stride_w, o);
#pragma unroll
        for (int k = 0; k < vec_size; ++k) {
          if (k >= some) break;
          const Vec<T> v = load(w + k * c.cols + o);
#pragma unroll
          for (int l = 0; l < vec_size; ++l) sum.at[k] += g.at[l] * v.at[l];
        }
      }
    }
  }
  const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size();
  const int e = (row * c.w + column) * c.ci + channel;
  if (c.ci % vec_size == 0) {
    put(p.dx + in + e, undo(below, sum, p.x + in, first + sample, e, draw));
  } else {  // the net's input
#pragma unroll
    for (int k = 0; k < vec_size; ++k)
      if (k < some) p.dx[in + e + k] = sum.at[k];
  }
}

/// Part blockIdx.y of dw, [k][cols], and behind it of db, [cols], over its share of n samples: a block has a
/// GradientTile.
template <class T, int Each, class D, class X>
__global__ void __launch_bounds__(256)
    convolve_weight_gradient(D d, GradientTile tile, int n, BackwardPass<T, X> p) {
  const Contraction c = d.get();
  if constexpr (D::complete) tile = known_tile<weight_gradient_tile<T>, D>;
  const GradientTile t = tile;
  const bool fours = c.ci % vec_size == 0;
  const int pitch = t.pitch(c), in_columns = t.in_columns(c), row_pitch = t.row_pitch(c);
  const int tiles_across = t.channel_tiles(c), tiles_deep = t.depth_tiles(c);
  const int o0 = int(blockIdx.x) % tiles_across * t.channels,
            c0 = int(blockIdx.x) / tiles_across % tiles_deep * t.depth,
            a0 = int(blockIdx.x) / tiles_across / tiles_deep * t.taps;

  const int threads = t.threads(c), apart = t.threads_apart(c), groups = t.channels / Each;
  const int split = t.splits > 1 ? int(threadIdx.x) / apart : 0, mine = int(threadIdx.x) - split * apart;
  const bool idle = int(threadIdx.x) >= apart * t.splits;
  const int channel = mine % groups * vec_size, quad = mine / groups % t.quads(c),
            tap = mine / groups / t.quads(c);
  const int run = quad * 4;  // along (column of the kernel, input channel)
  const int offset = fours ? run / t.depth * pitch + run % t.depth : run;
  // A thread brings in dy of the same channels of every `beside`-th place: these it adds up for the bias.
  const int pieces = t.channels / vec_size, beside = threads / pieces;
  const int my_piece = int(threadIdx.x) % pieces, my_place = int(threadIdx.x) / pieces;
  const bool sums_bias = a0 == 0 && c0 == 0;

  T* const staged_x = block_memory<T>();
  T* const staged_g = staged_x + t.in_elements(c);
  if (!fours)  // behind a row, for quads that reach over its end
    for (int e = int(threadIdx.x); e < t.in_rows(c) * vec_size; e += threads)
      staged_x[e / vec_size * row_pitch + in_columns * pitch + e % vec_size] = 0;
  T sum[4][Each] = {};
  Vec<T> bias{};
  const int across = t.bands_across(c), bands = t.bands_down(c) * across;
  const int units = n * bands, parts = int(gridDim.y);
  const int last = int(long(units) * (blockIdx.y + 1) / parts);
  for (int unit = int(long(units) * blockIdx.y / parts); unit < last; ++unit) {
    const int sample = unit / bands, top = unit % bands / across * t.rows,
              left = unit % bands % across * t.columns;
    const T* const dy = p.dy + std::ptrdiff_t(sample) * c.out_size();
    const WindowIndex* const argmax = c.pooled() ? p.argmax + std::ptrdiff_t(sample) * c.out_size() : nullptr;
    sample_of(p.x, c, sample).read([&]<class Sample>(const Sample& x) {
      const unsigned step = fours ? vec_size : 1, in_pieces = unsigned(t.depth) / step,
                     places = unsigned(t.in_rows(c) * in_columns);
      for (unsigned e = threadIdx.x; e < places * in_pieces; e += unsigned(threads)) {
        const unsigned on = Sample::planes ? e % places : e / in_pieces;
        const int k = int((Sample::planes ? e / places : e % in_pieces) * step),
                  row = int(on / unsigned(in_columns)), column = int(on % unsigned(in_columns)),
                  to = row * row_pitch + column * pitch + k;
        const int h = top * c.stride_h + a0 + row, w = left * c.stride_w + column;
        const bool inside = h < c.h && w < c.w && c0 + k < c.ci;
        if (fours)
          store(staged_x + to, inside ? x.four(h, w, c0 + k) : Vec<T>{});
        else
          staged_x[to] = inside ? x.one(h, w, c0 + k) : T(0);
      }
    });
    if (my_place < beside)
      for (int place = my_place; place < t.rows * t.columns; place += beside) {
        const int o = o0 + my_piece * vec_size;
        const Vec<T> g = o < c.cols
                             ? unpooled(c, dy, argmax, top + int(unsigned(place) / unsigned(t.columns)),
                                        left + int(unsigned(place) % unsigned(t.columns)), o)
                             : Vec<T>{};
        store(staged_g + (place * pieces + my_piece) * vec_size, g);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) bias.at[l] += g.at[l];
      }
    __syncthreads();
    if (!idle && a0 + tap < c.kh) {
      for (int i = 0; i < t.rows; ++i) {
        const T* from = staged_x + (i * c.stride_h + tap) * row_pitch + split * c.stride_w * pitch + offset;
        const T* g = staged_g + (i * t.columns + split) * t.channels + channel;
#pragma unroll 4
        for (int j = 0; j < t.columns; j += t.splits) {
          T in[4], out[Each];
          if (fours) {
            const Vec<T> v = load(from);
#pragma unroll
            for (int k = 0; k < 4; ++k) in[k] = v.at[k];
          } else {
#pragma unroll
            for (int k = 0; k < 4; ++k) in[k] = from[k];
          }
#pragma unroll
          for (int l = 0; l < Each; l += vec_size) {
            const Vec<T> v = load(g + l / vec_size * t.channel_step());
#pragma unroll
            for (int m = 0; m < vec_size; ++m) out[l + m] = v.at[m];
          }
#pragma unroll
          for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int l = 0; l < Each; ++l) sum[k][l] += in[k] * out[l];
          from += t.splits * c.stride_w * pitch;
          g += t.splits * t.channels;
        }
      }
    }
    __syncthreads();
  }

  T* const part = p.dw + std::ptrdiff_t(blockIdx.y) * (c.weight_size() + c.cols);
  if (sums_bias) {
    store(staged_x + int(threadIdx.x) * vec_size, bias);
    __syncthreads();
    const int o = o0 + my_piece * vec_size;
    if (my_place == 0 && o < c.cols) {
      for (int q = 1; q < beside; ++q) {
        const Vec<T> v = load(staged_x + (q * pieces + my_piece) * vec_size);
#pragma unroll
        for (int l = 0; l < vec_size; ++l) bias.at[l] += v.at[l];
      }
      put(part + c.weight_size() + o, bias);
    }
    __syncthreads();
  }
  if (t.splits > 1) {  // the first split's threads add up the others' sums, in order
    T* const all = staged_x;
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int l = 0; l < Each; ++l) all[(k * Each + l) * threads + int(threadIdx.x)] = sum[k][l];
    __syncthreads();
    if (split == 0) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int l = 0; l < Each; ++l)
          for (int q = 1; q < t.splits; ++q) sum[k][l] += all[(k * Each + l) * threads + q * apart + mine];
    }
  }
  if (split > 0 || idle) return;
#pragma unroll
  for (int l = 0; l < Each; l += vec_size) {
    const int o = o0 + channel + l / vec_size * t.channel_step();
    if (o >= c.cols) break;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int b = (run + k) / t.depth, in = c0 + (run + k) % t.depth;
      if (a0 + tap < c.kh && b < c.kw && in < c.ci)
        put(part + std::ptrdiff_t(((a0 + tap) * c.kw + b) * c.ci + in) * c.cols + o,
            Vec<T>{sum[k][l], sum[k][l + 1], sum[k][l + 2], sum[k][l + 3]});
    }
  }
}

/// What a contraction's parts are added up to: `weights` elements to dw, and `biases` behind them to db.
template <class T>
struct Gathering {
  const T* parts;
  int count, weights, biases;
  T* dw;
  T* db;  // null: none
};
template <class T>
struct Gatherings {
  static constexpr int most = 16;
  Gathering<T> at[most];
  int count = 0;
};

/// One element of one of them a thread: blockIdx.y says which. The parts are added in order.
template <class T>
__global__ void gather_parts(Gatherings<T> all) {
  const Gathering<T> g = all.at[blockIdx.y];
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x), step = g.weights + g.biases;
  if (i >= step || (i >= g.weights && !g.db)) return;
  T sum = g.parts[i];
#pragma unroll 8
  for (int p = 1; p < g.count; ++p) sum += g.parts[std::ptrdiff_t(p) * step + i];
  if (i < g.weights)
    g.dw[i] = sum;
  else
    g.db[i - g.weights] = sum;
}

}  // namespace kern::gpu
