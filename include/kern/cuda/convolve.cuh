// A convolution's forward kernel. Activations are NHWC, weights [kh][kw][ci][cols], cols a multiple of 4.
#pragma once
#include "../core/round.hpp"
#include "input.cuh"
#include "tile.hpp"

namespace kern::gpu {

/// Where a thread stands in a SlidingTile: channel groups run fastest.
struct SlidingPlace {
  int sample, row, column;  // first window of the block
  int channel;              // first channel of the block
  int my_row, my_column;    // this thread's window within the block
  int my_channel;           // its first channel within the block, four and four channel_step() apart
  bool idle;                // outside the picture, or of no window

  __device__ SlidingPlace(const Sliding& s, const SlidingTile& t) {
    const unsigned across = unsigned(math::ceil_div(s.columns, t.columns)),
                   blocks = unsigned(t.blocks_of_picture(s));
    const unsigned block = blockIdx.x % blocks, groups = unsigned(t.groups(s)), window = threadIdx.x / groups;
    sample = int(blockIdx.x / blocks);
    row = int(block / across) * t.rows, column = int(block % across) * t.columns;
    channel = int(blockIdx.y) * t.channels;
    my_row = int(window / unsigned(t.columns)), my_column = int(window % unsigned(t.columns));
    my_channel = int(threadIdx.x % groups) * vec_size;
    idle = my_row >= t.rows || row + my_row >= s.rows || (s.pooled && column + my_column >= s.columns) ||
           channel + my_channel >= s.out;
  }
  /// This thread's first output, of all and within the block. Its next ones stand column_step() apart.
  __device__ int first_column(const Sliding& s) const { return column * s.wide + my_first_column(s); }
  __device__ int my_first_column(const Sliding& s) const { return s.pooled ? my_column * s.wide : my_column; }
};

/// sum += x * w for the tile's rows of the kernel: this thread's window and channels. x, w: where they begin
/// in shared memory.
template <int High, int Wide, int Channels, class T>
__device__ void slide(const Sliding& s, const SlidingTile& t, int depth, const T* x, const T* w,
                      T (&sum)[High][Wide][Channels]) {
  const int pitch = t.pitch(s), row = t.row_step(s) * t.row_pitch(s), column = t.column_step(s) * pitch;
  const auto load_weights = [&](T(&v)[Channels], const T* from) {
#pragma unroll
    for (int l = 0; l < Channels; l += vec_size) {
      const Vec<T> four = load(from + l / vec_size * t.channel_step(s));
#pragma unroll
      for (int m = 0; m < vec_size; ++m) v[l + m] = four.at[m];
    }
  };
  for (int a = 0; a < t.taps; ++a, x += t.row_pitch(s) - s.kw * pitch)
    for (int b = 0; b < s.kw; ++b, x += pitch, w += t.depth * t.channels) {
      if (s.in_fours()) {
#pragma unroll 2
        for (int c = 0; c < depth; c += vec_size) {
          Vec<T> in[High][Wide];
#pragma unroll
          for (int i = 0; i < High; ++i)
#pragma unroll
            for (int j = 0; j < Wide; ++j) in[i][j] = load(x + i * row + j * column + c);
#pragma unroll
          for (int m = 0; m < vec_size; ++m) {
            T v[Channels];
            load_weights(v, w + (c + m) * t.channels);
#pragma unroll
            for (int i = 0; i < High; ++i)
#pragma unroll
              for (int j = 0; j < Wide; ++j)
#pragma unroll
                for (int l = 0; l < Channels; ++l) sum[i][j][l] += in[i][j].at[m] * v[l];
          }
        }
      } else {
        for (int c = 0; c < depth; ++c) {
          T v[Channels];
          load_weights(v, w + c * t.channels);
#pragma unroll
          for (int i = 0; i < High; ++i)
#pragma unroll
            for (int j = 0; j < Wide; ++j) {
              const T in = x[i * row + j * column + c];
#pragma unroll
              for (int l = 0; l < Channels; ++l) sum[i][j][l] += in * v[l];
            }
        }
      }
    }
}

/// f(element in the block's shared memory, its row, column, first channel) for this thread's share of
/// columns x depth; four channels at a time where the depth allows it. Neighbouring threads have neighbouring
/// channels, with Planes neighbouring columns.
template <bool Planes = false, class F>
__device__ void stage_picture(const Sliding& s, const SlidingTile& t, F f) {
  const unsigned columns = unsigned(t.in_columns(s)), step = s.in_fours() ? vec_size : 1;
  const unsigned pieces = unsigned(t.depth) / step, places = unsigned(t.in_rows(s)) * columns;
  for (unsigned e = threadIdx.x; e < places * pieces; e += blockDim.x) {
    const unsigned c = (Planes ? e / places : e % pieces) * step, place = Planes ? e % places : e / pieces;
    const int row = int(place / columns), column = int(place % columns);
    f(row * t.row_pitch(s) + column * t.pitch(s) + int(c), row, column, int(c));
  }
}

/// y = chain(pool(x * w + bias)): a block has a SlidingTile, a thread one pooled output, or a run of outputs.
/// PH x PW: the pool's window, 1 x 1 for none. tile: used where D does not know all numbers.
template <class T, int PH, int PW, int Channels, class D, class X, class Chain>
__global__ void __launch_bounds__(256)
    convolve(D d, SlidingTile tile, int first, ForwardPass<T, X> p, Chain chain, StepDraw at_step) {
  const ops::Draw draw = at_step;
  const Contraction c = d.get();
  const Sliding s = forward_sliding(c);
  if constexpr (D::complete) tile = known_tile<forward_tile<T>, D>;
  const SlidingTile t = tile;
  const SlidingPlace at(s, t);
  constexpr bool pooled = PH * PW > 1;
  constexpr int High = PH, Wide = pooled ? PW : pixels_a_thread;

  T* const staged_x = block_memory<T>();
  T* const staged_w = staged_x + t.in_elements(s);
  const auto sample = sample_of(p.x, c, at.sample);
  const int top = at.row * High * c.stride_h, left = at.column * Wide * c.stride_w;
  T sum[High][Wide][Channels] = {};
  const int apart = t.taps > 1 ? 1 : c.stride_h;  // rows of the input that stand one behind the other
  for (int c0 = 0; c0 < c.ci; c0 += t.depth)
    for (int a = 0; a < c.kh; a += t.taps) {
      const int depth = lesser(t.depth, c.ci - c0);
      sample.read([&]<class Sample>(const Sample& x) {
        stage_picture<Sample::planes>(s, t, [&](int to, int row, int column, int channel) {
          const int h = top + row * apart + a, w = left + column;
          const bool inside = h < c.h && w < c.w;
          if (s.in_fours())
            store(staged_x + to, inside ? x.four(h, w, c0 + channel) : Vec<T>{});
          else
            staged_x[to] = inside && channel < depth ? x.one(h, w, c0 + channel) : T(0);
        });
      });
      const unsigned pieces = unsigned(t.channels) / vec_size, deep = unsigned(t.depth);
      for (unsigned e = threadIdx.x; e < unsigned(t.taps * c.kw) * deep * pieces; e += blockDim.x) {
        const int o = at.channel + int(e % pieces) * vec_size;
        const unsigned row = e / pieces;  // of the weights: (kernel row, column, channel)
        const int k = int(row % deep);
        const int from = t.depth == c.ci ? int(row) : int(row / deep) * c.ci + c0 + k;
        const bool inside = o < c.cols && (t.depth == c.ci || k < depth);
        store(staged_w + e * vec_size,
              inside ? load(p.w.weight + std::ptrdiff_t(a * c.kw * c.ci + from) * c.cols + o) : Vec<T>{});
      }
      __syncthreads();
      if (!at.idle)
        slide(s, t, depth,
              staged_x + at.my_row * High * t.row_step(s) * t.row_pitch(s) +
                  at.my_first_column(s) * c.stride_w * t.pitch(s),
              staged_w + at.my_channel, sum);
      __syncthreads();
    }
  if (at.idle) return;

  const int i = at.row + at.my_row, j = at.column + at.my_column;
  const std::ptrdiff_t row = std::ptrdiff_t(at.sample) * c.out_size() + c.out_origin() + i * c.out_pitch();
#pragma unroll
  for (int l0 = 0; l0 < Channels; l0 += vec_size) {
    const int channel = at.channel + at.my_channel + l0 / vec_size * t.channel_step(s);
    if (channel >= c.cols) break;
    typename Chain::template Bound<T> op[vec_size];
#pragma unroll
    for (int l = 0; l < vec_size; ++l)
      op[l] = chain.template bind<T>({first + at.sample, channel + l, c.co}, draw);
    const Vec<T> bias = p.w.bias ? load(p.w.bias + channel) : Vec<T>{};
    Vec<T> y;
    if constexpr (pooled) {
      const std::ptrdiff_t e = row + j * c.cols + channel;
      IndexVec index;
#pragma unroll
      for (int l = 0; l < vec_size; ++l) {
        T top_value = sum[0][0][l0 + l];
        int won = 0;
#pragma unroll
        for (int q = 1; q < PH * PW; ++q) {  // the first of equal ones wins, NaN beats all
          const T v = sum[q / PW][q % PW][l0 + l];
          if (v > top_value || v != v) top_value = v, won = q;
        }
        y.at[l] = channel + l < c.co ? op[l].forward(top_value + bias.at[l], i * c.out_w() + j) : T(0);
        index.at[l] = WindowIndex(won);
      }
      put(p.y + e, y);
      if (p.argmax) put(p.argmax + e, index);
    } else {
#pragma unroll
      for (int q = 0; q < Wide; ++q) {
        const int column = at.first_column(s) + q * t.columns;
        if (column >= c.out_w()) break;
#pragma unroll
        for (int l = 0; l < vec_size; ++l)
          y.at[l] = channel + l < c.co ? op[l].forward(sum[0][q][l0 + l] + bias.at[l], i * c.out_w() + column)
                                       : T(0);
        put(p.y + row + column * c.cols + channel, y);
      }
    }
  }
}

}  // namespace kern::gpu
