// How a convolution is cut into blocks: plain data, from sizes alone, at compile time where they are known.
#pragma once
#include "../core/known.hpp"
#include "../core/round.hpp"
#include "../core/stage.hpp"

namespace kern::gpu {

/// Neighbouring pixels of a row that a thread works on where there is no pool.
inline constexpr int pixels_a_thread = 4;
/// What every device grants a block without being asked.
inline constexpr int shared_limit = 48 * 1024;

KERN_HOST_DEVICE constexpr int lesser(int a, int b) { return a < b ? a : b; }
KERN_HOST_DEVICE constexpr int greater(int a, int b) { return a > b ? a : b; }

/// Windows of high x wide outputs that slide over a picture, each summing kh x kw x depth products: a
/// convolution, or its way back to the input.
struct Sliding {
  int rows, columns;       // windows of a picture
  int high, wide;          // outputs of a window; a thread has them all
  int out, in;             // channels
  int kh, kw;              // kernel
  int stride_h, stride_w;  // from one output to the next

  /// Channels that a thread works on: its sums have to fit its registers.
  KERN_HOST_DEVICE constexpr int channels_a_thread() const {
    return out % 8 == 0 && high * wide <= 4 ? 8 : 4;
  }
  /// Whether four input channels are loaded at once.
  KERN_HOST_DEVICE constexpr bool in_fours() const { return in % 4 == 0; }
};

/// A block's share of a Sliding. For one row of the kernel, and `depth` input channels at a time, the input
/// rows and the weights stand in shared memory.
struct SlidingTile {
  int rows, columns;  // windows
  int channels;       // of the output
  int depth;          // of the input

  KERN_HOST_DEVICE constexpr int groups(const Sliding& s) const { return channels / s.channels_a_thread(); }
  KERN_HOST_DEVICE constexpr int threads(const Sliding& s) const { return rows * columns * groups(s); }
  /// From a thread's first four channels to its next: neighbouring threads have neighbouring fours.
  KERN_HOST_DEVICE constexpr int channel_step(const Sliding& s) const { return groups(s) * 4; }
  /// Of the input in shared memory: rows, columns, elements from one column to the next (four more than there
  /// are, so that columns do not fall on the same banks).
  KERN_HOST_DEVICE constexpr int in_rows(const Sliding& s) const { return rows * s.high; }
  KERN_HOST_DEVICE constexpr int in_columns(const Sliding& s) const {
    return (columns * s.wide - 1) * s.stride_w + s.kw;
  }
  KERN_HOST_DEVICE constexpr int pitch(const Sliding& s) const { return s.in_fours() ? depth + 4 : depth; }
  KERN_HOST_DEVICE constexpr int in_elements(const Sliding& s) const {
    return round_up(in_rows(s) * in_columns(s) * pitch(s), 4);
  }
  KERN_HOST_DEVICE constexpr int elements(const Sliding& s) const {
    return in_elements(s) + s.kw * depth * channels;
  }
  KERN_HOST_DEVICE constexpr int blocks_of_picture(const Sliding& s) const {
    return ceil_div(s.rows, rows) * ceil_div(s.columns, columns);
  }
};

/// The tile whose threads have the least to do for nothing. None has 0 rows: the kernel is too large.
KERN_HOST_DEVICE constexpr SlidingTile tile_of(const Sliding& s, int element_size) {
  const int step = s.channels_a_thread();
  const int channels = round_up(ceil_div(s.out, ceil_div(s.out, 64)), step);
  SlidingTile best{};
  long best_score = 0;
  for (int depth = s.in_fours() ? 32 : lesser(s.in, 32); depth > 0;
       depth = s.in_fours() ? depth / 2 : depth - 1) {
    if (depth < 4 && s.in_fours()) break;
    if (s.in_fours() && s.in % depth != 0) continue;
    for (int across = 1; across <= 8; ++across)
      for (int down = 1; down <= 32; ++down) {
        const SlidingTile t{ceil_div(s.rows, down), ceil_div(s.columns, across), channels, depth};
        const int threads = t.threads(s);
        if (threads > 256 || t.elements(s) * element_size > shared_limit) continue;
        const long covered =
            long(ceil_div(s.rows, t.rows)) * t.rows * ceil_div(s.columns, t.columns) * t.columns;
        const long useful = 1000L * s.rows * s.columns / covered * threads / round_up(threads, 32);
        const long score = useful * (threads < 48 ? 5 : threads < 96 || threads > 192 ? 9 : 10);
        if (score > best_score) best = t, best_score = score;
      }
    if (best_score > 0) return best;
  }
  // Wide pictures, wide kernels: what fits.
  for (int some = channels; some > 0; some -= step)
    for (int columns = lesser(s.columns, greater(1, 128 / (some / step))); columns > 0; columns /= 2)
      for (int depth = s.in_fours() ? 16 : lesser(s.in, 16); depth > 0; depth /= 2) {
        if (s.in_fours() && (depth < 4 || s.in % depth != 0)) continue;
        const SlidingTile t{1, columns, some, depth};
        if (t.elements(s) * element_size <= shared_limit) return t;
      }
  return best;
}

KERN_HOST_DEVICE constexpr Sliding forward_sliding(const Contraction& c) {
  const bool pooled = c.pooled();
  return {c.out_h(),  pooled ? c.out_w() : ceil_div(c.out_w(), pixels_a_thread),
          c.pool_h,   pooled ? c.pool_w : pixels_a_thread,
          c.cols,     c.ci,
          c.kh,       c.kw,
          c.stride_h, c.stride_w};
}
/// The border of a picture, which nobody reads from its gradient.
struct Border {
  int h, w;
};
/// For stride 1: a convolution of dL/d(conv) with the kernel turned, over the input without the border around
/// it.
KERN_HOST_DEVICE constexpr Sliding backward_sliding(const Contraction& c, Border around) {
  const int rows = c.h - 2 * around.h, columns = c.w - 2 * around.w;
  return {
      rows, ceil_div(columns, pixels_a_thread), 1, pixels_a_thread, round_up(c.ci, 4), c.cols, c.kh, c.kw, 1,
      1};
}

/// A block's share of a weight gradient: `taps` rows of the kernel, `depth` input channels, `channels` output
/// channels, and, of some units of `rows` x `columns` outputs before pooling, all. A thread has 4 products
/// along (column of the kernel, input channel) times `each` output channels; `splits` threads share its
/// outputs.
struct GradientTile {
  int taps, depth, channels, each, rows, columns, splits;

  KERN_HOST_DEVICE constexpr int quads(const Contraction& c) const { return ceil_div(c.kw * depth, 4); }
  /// Threads that share no product.
  KERN_HOST_DEVICE constexpr int threads_apart(const Contraction& c) const {
    return taps * quads(c) * (channels / each);
  }
  KERN_HOST_DEVICE constexpr int threads(const Contraction& c) const { return threads_apart(c) * splits; }
  /// From a thread's first four channels to its next.
  KERN_HOST_DEVICE constexpr int channel_step() const { return channels / each * 4; }
  KERN_HOST_DEVICE constexpr int pitch(const Contraction& c) const {
    return c.ci % 4 == 0 ? depth + 4 : depth;
  }
  KERN_HOST_DEVICE constexpr int in_rows(const Contraction& c) const {
    return (rows - 1) * c.stride_h + taps;
  }
  KERN_HOST_DEVICE constexpr int in_columns(const Contraction& c) const {
    return (columns - 1) * c.stride_w + c.kw;
  }
  /// Of the input in shared memory; four more, for quads that reach over the end.
  KERN_HOST_DEVICE constexpr int in_elements(const Contraction& c) const {
    return round_up(in_rows(c) * in_columns(c) * pitch(c) + 4, 4);
  }
  KERN_HOST_DEVICE constexpr int elements(const Contraction& c) const {
    return greater(in_elements(c) + rows * columns * channels, splits > 1 ? threads(c) * 4 * each : 0);
  }
  KERN_HOST_DEVICE constexpr int bands_down(const Contraction& c) const {
    return ceil_div(c.out_h() * c.pool_h, rows);
  }
  KERN_HOST_DEVICE constexpr int bands_across(const Contraction& c) const {
    return ceil_div(c.out_w() * c.pool_w, columns);
  }
  /// Blocks of a part.
  KERN_HOST_DEVICE constexpr int tap_tiles(const Contraction& c) const { return ceil_div(c.kh, taps); }
  KERN_HOST_DEVICE constexpr int depth_tiles(const Contraction& c) const { return ceil_div(c.ci, depth); }
  KERN_HOST_DEVICE constexpr int channel_tiles(const Contraction& c) const {
    return ceil_div(c.cols, channels);
  }
};

/// The largest that fits. None has 0 rows: the kernel is too large.
KERN_HOST_DEVICE constexpr GradientTile gradient_tile_of(const Contraction& c, int element_size) {
  const bool fours = c.ci % 4 == 0;
  const int all_rows = c.out_h() * c.pool_h, all_columns = c.out_w() * c.pool_w;
  for (int columns = all_columns; columns > 0; columns = columns / 2 / c.pool_w * c.pool_w)
    for (int depth = fours ? 32 : lesser(c.ci, 32); depth > 0; depth = fours ? depth / 2 : depth - 1) {
      if (fours && (depth < 4 || c.ci % depth != 0)) continue;
      for (int channels = lesser(c.cols, 64); channels >= 4; channels = channels / 8 * 4)
        for (int one = 0; one < 2; ++one) {
          GradientTile t{one ? 1 : c.kh, depth, channels, channels % 8 == 0 ? 8 : 4, 0, columns, 1};
          if (t.threads(c) > 256) continue;
          // Bands cut no window of a pool.
          for (t.rows = lesser(round_up(8, c.pool_h), all_rows); t.rows > 0; t.rows -= c.pool_h) {
            for (t.splits = 16; t.splits > 0; t.splits /= 2)
              if (t.splits <= columns && t.threads(c) <= 256 && t.elements(c) * element_size <= shared_limit)
                return t;
          }
        }
    }
  return {};
}

/// Parts that a batch is cut into: each sums its own weight gradient, gather() adds them in order. Enough to
/// keep a device busy, few enough to stay in its cache.
KERN_HOST_DEVICE constexpr int gradient_parts(const Contraction& c) {
  return greater(8, lesser(128, (1 << 20) / (c.weight_size() + c.cols)));
}

template <class T>
KERN_HOST_DEVICE constexpr SlidingTile forward_tile(const Contraction& c) {
  return tile_of(forward_sliding(c), sizeof(T));
}
template <class T>
KERN_HOST_DEVICE constexpr SlidingTile data_gradient_tile(const Contraction& c, Border around) {
  return tile_of(backward_sliding(c, around), sizeof(T));
}
template <class T>
KERN_HOST_DEVICE constexpr GradientTile weight_gradient_tile(const Contraction& c) {
  return gradient_tile_of(c, sizeof(T));
}
/// Find(D's numbers), where D knows them all: by the compiler, for the search takes a while.
template <auto Find, class D>
inline constexpr auto known_tile = Find(D::value);

}  // namespace kern::gpu
