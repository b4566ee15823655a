// How a convolution is cut into blocks: plain data, from sizes alone, at compile time where they are known.
// The values of `tuning` are all that a GPU has a say in.
#pragma once
#include "../core/known.hpp"
#include "../core/round.hpp"
#include "../core/stage.hpp"

namespace kern::gpu {

/// Neighbouring pixels of a row that a thread works on where there is no pool.
inline constexpr int pixels_a_thread = 4;

/// What tiles are chosen by. One set for all GPUs: a grid is the host's, its tile the kernel's, and one
/// program runs on whatever GPU there is.
struct Tuning {
  int shared_memory = 48 * 1024;  // of a block, bytes: what every GPU grants without being asked
  int threads = 256;              // of a block, at most; the kernels' launch bounds
  int few_threads = 48, usual_threads = 96,
      many_threads = 192;      // too few to hide latency, too many to overlap
  int threads_a_sample = 256;  // at least: of 64 samples they fill an H200's lanes, 128 would half of them
  int channels = 64;           // of the output of a block, at most
  int depth = 32;              // input channels at a time, at most
  int input_cost = 40, weight_cost = 16;  // instructions for four elements on their way into shared memory
  int barrier_cost = 40;
  int least_parts = 8, most_parts = 128;  // of a batch, for a weight gradient: enough to keep a GPU busy,
  int elements_of_parts = 1 << 20;        // few enough to stay in its cache
  int blocks_of_sum = 256;  // of a linear layer whose sum is cut into parts, of at least so many
  int products_of_part = 192, most_parts_of_sum = 32;
};
inline constexpr Tuning tuning{};

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
  bool pooled;             // a window's outputs are neighbours; else a tile's columns apart

  /// Channels that a thread works on: its sums have to fit its registers, and a small picture has to make
  /// threads.
  KERN_HOST_DEVICE constexpr int channels_a_thread() const {
    return out % 8 == 0 && high * wide <= 4 && rows * columns * out / 8 >= tuning.threads_a_sample ? 8 : 4;
  }
  /// Whether four input channels are loaded at once.
  KERN_HOST_DEVICE constexpr bool in_fours() const { return in % 4 == 0; }
};

/// A block's share of a Sliding. For `taps` rows of the kernel (1 or all), and `depth` input channels at a
/// time, the input rows and the weights stand in shared memory.
struct SlidingTile {
  int rows, columns;  // windows
  int channels;       // of the output
  int depth;          // of the input
  int taps;           // of the kernel

  KERN_HOST_DEVICE constexpr int groups(const Sliding& s) const { return channels / s.channels_a_thread(); }
  KERN_HOST_DEVICE constexpr int threads(const Sliding& s) const { return rows * columns * groups(s); }
  /// From a thread's first four channels to its next: neighbouring threads have neighbouring fours.
  KERN_HOST_DEVICE constexpr int channel_step(const Sliding& s) const { return groups(s) * 4; }
  /// In shared memory from one output to the next: rows; columns, of one thread's.
  KERN_HOST_DEVICE constexpr int row_step(const Sliding& s) const { return taps > 1 ? s.stride_h : 1; }
  KERN_HOST_DEVICE constexpr int column_step(const Sliding& s) const {
    return (s.pooled ? 1 : columns) * s.stride_w;
  }
  /// Of the input in shared memory: rows, columns, elements from one column to the next (four more than there
  /// are, so that columns do not fall on the same banks).
  KERN_HOST_DEVICE constexpr int in_rows(const Sliding& s) const {
    return (rows * s.high - 1) * row_step(s) + taps;
  }
  KERN_HOST_DEVICE constexpr int in_columns(const Sliding& s) const {
    return (columns * s.wide - 1) * s.stride_w + s.kw;
  }
  KERN_HOST_DEVICE constexpr int pitch(const Sliding& s) const { return s.in_fours() ? depth + 4 : depth; }
  /// From one row to the next: threads go on where they ended in the row before, so their loads are on banks
  /// that follow, too.
  KERN_HOST_DEVICE constexpr int row_pitch(const Sliding& s) const {
    const int row = in_columns(s) * pitch(s);
    if (s.pooled || s.stride_w > 1) return row;
    return math::round_up(row - columns * pitch(s), 32) + columns * pitch(s);
  }
  KERN_HOST_DEVICE constexpr int in_elements(const Sliding& s) const {
    return math::round_up(in_rows(s) * row_pitch(s), 4);
  }
  KERN_HOST_DEVICE constexpr int elements(const Sliding& s) const {
    return in_elements(s) + taps * s.kw * depth * channels;
  }
  KERN_HOST_DEVICE constexpr int blocks_of_picture(const Sliding& s) const {
    return math::ceil_div(s.rows, rows) * math::ceil_div(s.columns, columns);
  }
};

/// How good a tile is: multiply-adds of use among all that its threads execute. Few threads hide little
/// latency, many leave a multiprocessor few blocks to overlap.
KERN_HOST_DEVICE constexpr long score(const Sliding& s, const SlidingTile& t) {
  const int threads = t.threads(s);
  const long covered =
      long(math::ceil_div(s.rows, t.rows)) * t.rows * math::ceil_div(s.columns, t.columns) * t.columns;
  const long useful = 1000L * s.rows * s.columns / covered * threads / math::round_up(threads, 32);
  const long products = long(s.kh) * s.kw * s.in * s.high * s.wide * s.channels_a_thread();
  const long passes = long(math::ceil_div(s.kh, t.taps)) * math::ceil_div(s.in, t.depth);
  const long input = passes * t.in_rows(s) * t.in_columns(s) * math::ceil_div(t.depth, 4),
             weights = passes * t.taps * s.kw * t.depth * t.channels / 4;
  const long rest =
      (input * tuning.input_cost + weights * tuning.weight_cost) / threads + passes * tuning.barrier_cost;
  const bool usual = threads >= tuning.usual_threads && threads <= tuning.many_threads;
  const int hidden = usual ? 10 : threads >= tuning.few_threads ? 9 : 5;
  return useful * hidden * 100 * products / (products + products / 8 + rest);
}

/// The best tile. None has 0 rows: the kernel is too large.
KERN_HOST_DEVICE constexpr SlidingTile tile_of(const Sliding& s, int element_size) {
  const int step = s.channels_a_thread();
  const int shares = math::ceil_div(s.out, tuning.channels);
  const int channels = math::round_up(math::ceil_div(s.out, shares), step),
            half = math::round_up(math::ceil_div(s.out, 2 * shares), step);
  SlidingTile best{};
  long best_score = 0;
  for (int taps = s.kh; taps > 0; taps = taps > 1 ? 1 : 0)
    for (int depth = s.in_fours() ? tuning.depth : lesser(s.in, tuning.depth); depth > 0;
         depth = s.in_fours() ? depth / 2 : depth - 1) {
      if (depth < 4 && s.in_fours()) break;
      if (s.in_fours() && s.in % depth != 0) continue;
      bool fits = false;
      for (int across = 1; across <= 8; ++across)
        for (int down = 1; down <= 32; ++down) {
          if (down > 1 && math::ceil_div(s.rows, down) == math::ceil_div(s.rows, down - 1)) continue;
          // Half of the channels: the picture is brought in twice, but half of the weights by as many
          // threads.
          for (const int some : {channels, half}) {
            const SlidingTile t{math::ceil_div(s.rows, down), math::ceil_div(s.columns, across), some, depth,
                                taps};
            if (t.threads(s) > tuning.threads || t.elements(s) * element_size > tuning.shared_memory)
              continue;
            fits = true;
            if (const long its = score(s, t); its > best_score) best = t, best_score = its;
          }
        }
      if (fits && !s.in_fours()) break;
    }
  if (best_score > 0) return best;
  // Wide pictures, wide kernels: what fits.
  for (int some = channels; some > 0; some -= step)
    for (int columns = lesser(s.columns, greater(1, 128 / (some / step))); columns > 0; columns /= 2)
      for (int depth = s.in_fours() ? 16 : lesser(s.in, 16); depth > 0; depth /= 2) {
        if (s.in_fours() && (depth < 4 || s.in % depth != 0)) continue;
        const SlidingTile t{1, columns, some, depth, 1};
        if (t.elements(s) * element_size <= tuning.shared_memory) return t;
      }
  return best;
}

KERN_HOST_DEVICE constexpr Sliding forward_sliding(const Contraction& c) {
  const bool pooled = c.pooled();
  return {c.out_h(),  pooled ? c.out_w() : math::ceil_div(c.out_w(), pixels_a_thread),
          c.pool_h,   pooled ? c.pool_w : pixels_a_thread,
          c.cols,     c.ci,
          c.kh,       c.kw,
          c.stride_h, c.stride_w,
          pooled};
}
/// The border of a picture, which nobody reads from its gradient.
struct Border {
  int h, w;
};
/// For stride 1: a convolution of dL/d(conv) with the kernel turned, over the input without the border around
/// it.
KERN_HOST_DEVICE constexpr Sliding backward_sliding(const Contraction& c, Border around) {
  const int rows = c.h - 2 * around.h, columns = c.w - 2 * around.w;
  return {rows,
          math::ceil_div(columns, pixels_a_thread),
          1,
          pixels_a_thread,
          math::round_up(c.ci, 4),
          c.cols,
          c.kh,
          c.kw,
          1,
          1,
          false};
}

/// A block's share of a weight gradient: `taps` rows of the kernel, `depth` input channels, `channels` output
/// channels, and, of some units of `rows` x `columns` outputs before pooling, all. A thread has 4 products
/// along (column of the kernel, input channel) times `each` output channels; `splits` threads share its
/// outputs.
struct GradientTile {
  int taps, depth, channels, each, rows, columns, splits;

  KERN_HOST_DEVICE constexpr int quads(const Contraction& c) const { return math::ceil_div(c.kw * depth, 4); }
  /// Threads that share no product.
  KERN_HOST_DEVICE constexpr int threads_apart(const Contraction& c) const {
    return taps * quads(c) * (channels / each);
  }
  /// Whole warps: the last one's rest only brings elements in.
  KERN_HOST_DEVICE constexpr int threads(const Contraction& c) const {
    return math::round_up(threads_apart(c) * splits, 32);
  }
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
  /// Elements from one input row in shared memory to the next: where rows of the kernel fall on the same
  /// banks, somewhat more than there are.
  KERN_HOST_DEVICE constexpr int row_pitch(const Contraction& c) const {
    const int row = in_columns(c) * pitch(c);
    return c.ci % 4 == 0 ? row : math::round_up(row, 32) + lesser(16, greater(8, 4 * quads(c)));
  }
  /// Of the input in shared memory; four more, for quads that reach over the end.
  KERN_HOST_DEVICE constexpr int in_elements(const Contraction& c) const {
    return math::round_up(in_rows(c) * row_pitch(c) + 4, 4);
  }
  /// At the end the splits' sums, or the bias's, stand there.
  KERN_HOST_DEVICE constexpr int elements(const Contraction& c) const {
    return greater(in_elements(c) + rows * columns * channels, threads(c) * 4 * (splits > 1 ? each : 1));
  }
  KERN_HOST_DEVICE constexpr int bands_down(const Contraction& c) const {
    return math::ceil_div(c.out_h() * c.pool_h, rows);
  }
  KERN_HOST_DEVICE constexpr int bands_across(const Contraction& c) const {
    return math::ceil_div(c.out_w() * c.pool_w, columns);
  }
  /// Blocks of a part.
  KERN_HOST_DEVICE constexpr int tap_tiles(const Contraction& c) const { return math::ceil_div(c.kh, taps); }
  KERN_HOST_DEVICE constexpr int depth_tiles(const Contraction& c) const {
    return math::ceil_div(c.ci, depth);
  }
  KERN_HOST_DEVICE constexpr int channel_tiles(const Contraction& c) const {
    return math::ceil_div(c.cols, channels);
  }
};

/// The largest that fits. None has 0 rows: the kernel is too large.
KERN_HOST_DEVICE constexpr GradientTile gradient_tile_of(const Contraction& c, int element_size) {
  const bool fours = c.ci % 4 == 0;
  const int all_rows = c.out_h() * c.pool_h, all_columns = c.out_w() * c.pool_w;
  for (int columns = all_columns; columns > 0; columns = columns / 2 / c.pool_w * c.pool_w)
    for (int depth = fours ? tuning.depth : lesser(c.ci, tuning.depth); depth > 0;
         depth = fours ? depth / 2 : depth - 1) {
      if (fours && (depth < 4 || c.ci % depth != 0)) continue;
      for (int channels = lesser(c.cols, tuning.channels); channels >= 4; channels = channels / 8 * 4)
        for (int one = 0; one < 2; ++one) {
          GradientTile t{one ? 1 : c.kh, depth, channels, channels % 8 == 0 ? 8 : 4, 0, columns, 1};
          if (t.threads(c) > tuning.threads) continue;
          // Bands cut no window of a pool.
          for (t.rows = lesser(math::round_up(8, c.pool_h), all_rows); t.rows > 0; t.rows -= c.pool_h) {
            for (t.splits = lesser(16, columns); t.splits > 0; --t.splits)
              if (columns % t.splits == 0 && t.threads(c) <= tuning.threads && t.threads(c) >= channels / 4 &&
                  t.elements(c) * element_size <= tuning.shared_memory)
                return t;
          }
        }
    }
  return {};
}

/// Parts that a batch is cut into: each sums its own weight gradient, gather() adds them in order.
KERN_HOST_DEVICE constexpr int gradient_parts(const Contraction& c) {
  return greater(tuning.least_parts,
                 lesser(tuning.most_parts, tuning.elements_of_parts / (c.weight_size() + c.cols)));
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
