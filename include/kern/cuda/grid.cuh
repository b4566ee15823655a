// How a stage's kernels are started: from sizes alone, for who launches and for who explains. For nvcc only.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../core/error.hpp"
#include "../core/round.hpp"
#include "below.cuh"
#include "dense.cuh"
#include "elementwise.cuh"
#include "grouped.cuh"
#include "launch.cuh"
#include "lookup.cuh"
#include "norm.cuh"
#include "row_norm.cuh"
#include "tile.hpp"

namespace kern::gpu {

/// Find(d's numbers).
template <auto Find, class D>
constexpr auto found_tile(const D& d) {
  if constexpr (D::complete)
    return known_tile<Find, D>;
  else
    return Find(d.get());
}
/// Of a stage above `below`.
template <class T, class D, class Under>
constexpr SlidingTile data_gradient_tile(const D& d, const Under& below) {
  if constexpr (D::complete)
    return known_tile<data_gradient_tile_above<T, Under>, D>;
  else
    return data_gradient_tile<T>(d.get(), border(below));
}

inline void require_tile(bool fits, const Contraction& c) {
  if (!fits)
    throw ShapeError(text("a convolution's kernel of ", c.kh, " x ", c.kw,
                          " is too wide for the shared memory of a CUDA block"));
}
/// A thread for each of n x h x w x groups things.
inline Grid items_grid(int n, int h, int w, int groups) {
  return grid_of(std::size_t(n) * std::size_t(h) * std::size_t(w) * std::size_t(groups));
}
template <class T>
Grid sliding_grid(const Contraction& c, const Sliding& s, const SlidingTile& t, int n) {
  require_tile(t.rows > 0, c);
  return {dim3(unsigned(n) * unsigned(t.blocks_of_picture(s)), unsigned(math::ceil_div(s.out, t.channels))),
          dim3(unsigned(t.threads(s))), std::size_t(t.elements(s)) * sizeof(T)};
}

inline constexpr int most_counted_tiles = 1024;
/// A linear layer's sum is cut where it is long and its tiles are few, to keep more of the device busy.
constexpr int parts_of_sum(const Dense& d, int n) {
  const long tiles = long(math::ceil_div(d.cols, tile_columns)) * math::ceil_div(n, tile_rows);
  if (tiles > most_counted_tiles) return 1;
  return std::clamp(std::min(d.k / tuning.products_of_part, int(tuning.blocks_of_sum / tiles)), 1,
                    tuning.most_parts_of_sum);
}

/// Elements that the parts of its sum need, for any batch of up to n: fewer samples may make more parts.
constexpr std::size_t sums_of_parts(const Dense& d, int n) {
  if (parts_of_sum(d, 1) == 1) return 0;
  const long most = long(parts_of_sum(d, 1)) * n,
             tiled = tuning.blocks_of_sum / math::ceil_div(d.cols, tile_columns) * long(tile_rows);
  return std::size_t(std::min(most, tiled)) * std::size_t(d.cols);
}

/// convolve.
template <class T>
Grid forward_grid(const Contraction& c, const SlidingTile& tile, int n) {
  return sliding_grid<T>(c, forward_sliding(c), tile, n);
}
/// grouped_forward.
inline Grid forward_grid(const GroupedContraction& c, int n) {
  return items_grid(n, c.out_h(), math::ceil_div(c.out_w(), pixels_a_thread), c.cols / vec_size);
}
/// lookup_forward, lookup_gradient.
inline Grid forward_grid(const Lookup& s, int n) { return items_grid(n, s.positions, 1, s.cols / vec_size); }
inline Grid gradient_grid(const Lookup& s) {
  return {dim3(unsigned(math::ceil_div(s.rows, rows_a_block(s)))), dim3(lookup_threads)};
}
/// window_forward.
inline Grid forward_grid(const Window& w, int n) {
  return items_grid(n, w.out_h(), w.out_w(), w.cols / vec_size);
}
/// pointwise_forward, pointwise_backward; of a Norm also norm_backward; join_forward.
template <class Stage>
Grid pointwise_grid(const Stage& s, int n) {
  return items_grid(n, s.h, s.w, s.cols / vec_size);
}
/// join_backward, add_images.
inline Grid image_grid(const StoredImage& s, int n) { return items_grid(n, s.h, s.w, s.cols / vec_size); }
/// A batch's statistics come in parts of so many samples.
inline constexpr int most_norm_parts = 64;
inline int norm_chunk(int n) { return math::ceil_div(n, most_norm_parts); }
/// norm_measure, norm_sums.
template <class T>
Grid norm_grid(const Norm& s, int n) {
  return {dim3(unsigned(math::ceil_div(s.features(), norm_groups * vec_size)),
               unsigned(math::ceil_div(n, norm_chunk(n)))),
          dim3(norm_groups * norm_rows), norm_shared<T>};
}
/// row_norm_forward, row_norm_backward.
inline Grid row_norm_grid(const RowNorm& s, int n) {
  return {dim3(unsigned(n) * unsigned(s.rows)),
          dim3(unsigned(std::min(math::round_up(s.weight_size() / vec_size, 32), most_row_threads)))};
}
/// row_norm_weight_gradient.
template <class T>
Grid weight_gradient_grid(const RowNorm& s) {
  return {
      dim3(unsigned(math::ceil_div(s.weight_size(), norm_groups * vec_size)), unsigned(gradient_parts(s))),
      dim3(norm_groups * norm_rows), norm_shared<T>};
}
/// dense_forward.
template <class T>
Grid forward_grid(const Dense& d, int n) {
  return {dim3(unsigned(math::ceil_div(n, tile_rows)), unsigned(math::ceil_div(d.cols, tile_columns)),
               unsigned(parts_of_sum(d, n))),
          dim3(dense_threads), dense_shared<T>};
}
/// softmax_forward, softmax_backward.
inline Grid rows_grid(int n) { return grid_of(std::size_t(n)); }
/// mean_of_rows: how many rows, `stride` apart, stand in shared memory at once, with their gradients; 0 if a
/// warp of them would not fit.
template <class T>
int mean_rows(std::size_t stride, int n) {
  const std::size_t fit = 40 * 1024 / (2 * sizeof(T) * (stride | 1));
  return fit < 32 ? 0 : int(std::min<std::size_t>(fit, std::size_t(std::min(n, mean_threads))));
}
template <class T>
Grid mean_grid(std::size_t stride, int n) {
  return {dim3(1), dim3(mean_threads), 2 * sizeof(T) * (stride | 1) * std::size_t(mean_rows<T>(stride, n))};
}
/// reduce_parts of n values, each thread with 16 of them if there aren't too many; reduce_end.
inline int reduce_blocks(std::size_t n) {
  return int(std::clamp<std::size_t>(n / (16 * reduce_threads), 1, 1024));
}
inline Grid reduce_grid(int blocks) { return {dim3(unsigned(blocks)), dim3(reduce_threads)}; }

/// convolve_weight_gradient.
template <class T>
Grid weight_gradient_grid(const Contraction& c, const GradientTile& t) {
  require_tile(t.rows > 0, c);
  return {dim3(unsigned(t.channel_tiles(c) * t.depth_tiles(c) * t.tap_tiles(c)), unsigned(gradient_parts(c))),
          dim3(unsigned(t.threads(c))), std::size_t(t.elements(c)) * sizeof(T)};
}
/// grouped_weight_gradient.
template <class T>
Grid weight_gradient_grid(const GroupedContraction& c) {
  return {dim3(unsigned(c.kh * c.kw * c.group_in() * math::ceil_div(c.cols, norm_groups * vec_size)),
               unsigned(gradient_parts(c))),
          dim3(norm_groups * norm_rows), norm_shared<T>};
}
/// grouped_data_gradient.
inline Grid data_gradient_grid(const GroupedContraction& c, int n) {
  return items_grid(n, c.h, c.w, c.ci / vec_size);
}
/// convolve_strided_data_gradient.
inline Grid strided_data_gradient_grid(const Contraction& c, int n) {
  return items_grid(n, c.h, c.w, math::ceil_div(c.ci, vec_size));
}
/// window_backward.
inline Grid backward_grid(const Window& w, int n) { return items_grid(n, w.h, w.w, w.cols / vec_size); }
/// dense_backward: its blocks for dx, and those for dw.
inline int data_blocks(const Dense& d, int n) {
  return math::ceil_div(d.k, tile_columns) * math::ceil_div(n, tile_rows);
}
template <class T>
Grid backward_grid(const Dense& d, bool data_gradient, int n) {
  const int weights = math::ceil_div(d.k, tile_rows) * math::ceil_div(d.cols, tile_columns);
  return {dim3(unsigned((data_gradient ? data_blocks(d, n) : 0) + weights)), dim3(dense_threads),
          dense_shared<T>};
}
/// undo_chain, of samples of `size` elements.
inline Grid undo_grid(int size, int n) { return items_grid(n, 1, 1, size / vec_size); }
/// gather_parts: `count` of them, the largest of so many elements.
inline Grid gather_grid(int largest, int count) {
  Grid grid = grid_of(std::size_t(largest));
  grid.blocks.y = unsigned(count);
  return grid;
}
/// store_input, and whether there is need of it.
inline bool stored_as_it_is(const Entry& e) {
  return (e.c == 1 || (e.h == 1 && e.w == 1)) && e.stored_size() == e.size();
}
inline Grid entry_grid(const Entry& e, int n) {
  return grid_of(std::size_t(n) * std::size_t(e.stored_size()));
}

}  // namespace kern::gpu
