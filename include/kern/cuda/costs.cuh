// What a stage's kernels have to do, whatever the device: for explain, and to hold their times against. For
// nvcc only.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "../core/round.hpp"
#include "convolve_back.cuh"
#include "grid.cuh"

namespace kern::gpu {

/// A launch, and the bytes of the device's memory that it can't do without: each once.
struct Work {
  const char* kernel;
  Grid grid;
  double read = 0, written = 0;  ///< bytes
  int products = 0;              ///< how many times the stage's multiply-adds
};

/// "convolve with a grid of (64, 1, 1) blocks of (144, 1, 1) threads and 18560 bytes of shared memory".
inline std::string to_string(const Work& w) { return launch_text(w.kernel, w.grid); }

/// What the kernel that makes dx of a stage meets below: the border around that stage's output, and whether
/// its pointwise ops need the output for their derivative.
struct Beneath {
  Border border{};
  bool reads_output = false;
};

/// What the samples that a stage reads do not have, but it sees: a border; and channels, of which they have
/// so many (0: all).
struct SamplesGiven {
  Border border{};
  int channels = 0;
};

/// The launches of Backend<T>, by what it is asked to do. Made of the grids that it launches.
template <class T>
struct Costs {
  using Launch = Work;
  using Works = std::vector<Work>;
  using Under = Beneath;
  using Given = SamplesGiven;
  template <class D>
  static Under under(const D& d, bool reads_output) {
    const Stored s = stored(d);
    return {{s.border_h, s.border_w}, reads_output};
  }

  /// Samples of the host, for a first stage that does not read them itself.
  static Works load(const Entry& e, int n) {
    if (stored_as_it_is(e)) return {};
    return {{"store_input", entry_grid(e, n), bytes(n, e.size()), bytes(n, e.stored_size())}};
  }

  /// indexed: a pool's winners are kept, for training. given: of a stage that reads
  /// samples as they come.
  static Works forward(const Contraction& c, bool bias, bool indexed, int n, Given given = {}) {
    const double out = outputs(c);
    return {{"convolve", forward_grid<T>(c, forward_tile<T>(c), n),
             bytes(n, inputs(c, given)) + weights(c, bias), bytes(n, out) + (indexed ? indices(n, out) : 0),
             1}};
  }
  static Works forward(const GroupedContraction& c, bool bias, bool, int n) {
    return {{"grouped_forward", forward_grid(c, n), bytes(n, c.in_size()) + weights(c, bias),
             bytes(n, double(c.out_h()) * c.out_w() * c.cols), 1}};
  }
  static Works forward(const Lookup& s, bool, bool, int n) {
    const double out = bytes(n, s.positions, s.cols);
    return {{"lookup_forward", forward_grid(s, n),
             bytes(n, s.positions) + std::min(out, bytes(s.weight_size())), out}};
  }
  static Works forward(const Window& w, bool, bool indexed, int n) {
    const double out = double(w.out_h()) * w.out_w() * w.cols;
    return {{"window_forward", forward_grid(w, n), bytes(n, w.in_size()),
             bytes(n, out) + (indexed ? indices(n, out) : 0)}};
  }
  static Works forward(const Pointwise& p, bool, bool, int n) {
    return {{"pointwise_forward", pointwise_grid(p, n), bytes(n, p.in_size()), bytes(n, p.in_size())}};
  }
  static Works forward(const Norm& s, bool, bool, int n) {
    const double size = bytes(n, s.in_size());
    return {{"norm_measure", norm_grid<T>(s, n), size, norm_parts(s, n)},
            {"each_thread", grid_of(std::size_t(s.features())), norm_parts(s, n), bytes(5, s.features())},
            {"norm_forward", pointwise_grid(s, n), size + bytes(2, s.features()), size}};
  }
  static Works forward(const RowNorm& s, bool bias, bool, int n) {
    return {{"row_norm_forward", row_norm_grid(s, n),
             bytes(n, s.in_size()) + (s.affine ? bytes(s.weight_size() * (bias ? 2 : 1)) : 0),
             bytes(n, s.in_size())}};
  }
  /// Its running statistics.
  static Works track(const Norm& s) {
    return {
        {"each_thread", grid_of(std::size_t(s.features())), bytes(4, s.features()), bytes(2, s.features())}};
  }
  static Works forward(const Dense& d, bool bias, bool, int n) {
    const int parts = parts_of_sum(d, n);
    const double sums = parts > 1 ? bytes(parts, n, d.cols) : 0;
    return {{"dense_forward", forward_grid<T>(d, n), bytes(n, d.k) + weights(d, bias) + sums,
             bytes(n, d.cols) + sums, 1}};
  }
  static Works forward(const SoftmaxRows& r, bool, bool, int n) {
    return {{"softmax_forward", rows_grid(n), bytes(n, r.in_size()), bytes(n, r.out_size())}};
  }
  static Works forward(const Join& j, bool, bool, int n) {
    return {{"join_forward", pointwise_grid(j, n), bytes(n, pixels(j.a) + pixels(j.b)),
             bytes(n, pixels(j.output()))}};
  }

  /// The last stage's own pointwise ops.
  static Works undo(int size, bool reads_output, int n) {
    return {{"undo_chain", undo_grid(size, n), bytes(n, size) * (reads_output ? 2 : 1), bytes(n, size)}};
  }
  static Works backward(const Contraction& c, bool, bool data_gradient, const Under& below, int n,
                        Given given = {}) {
    const double dy = bytes(n, outputs(c)) + (c.pooled() ? indices(n, outputs(c)) : 0);
    Works w{{"convolve_weight_gradient", weight_gradient_grid<T>(c, weight_gradient_tile<T>(c)),
             bytes(n, inputs(c, given)) + dy, bytes(gradient_parts(c), c.weight_size() + c.cols), 1}};
    if (!data_gradient) return w;
    const Border around = below.border;
    const bool strided = c.stride_h != 1 || c.stride_w != 1;
    const Sliding s = backward_sliding(c, around);
    const double dx =
        strided ? bytes(n, c.in_size()) : bytes(n, c.h - 2 * around.h, double(c.w - 2 * around.w) * c.ci);
    w.push_back({strided ? "convolve_strided_data_gradient" : "convolve_data_gradient",
                 strided ? strided_data_gradient_grid(c, n)
                         : sliding_grid<T>(c, s, data_gradient_tile<T>(c, around), n),
                 dy + weights(c, false) + (below.reads_output ? dx : 0), dx, 1});
    return w;
  }
  static Works backward(const GroupedContraction& c, bool, bool data_gradient, const Under& below, int n) {
    const double dy = bytes(n, double(c.out_h()) * c.out_w() * c.cols), dx = bytes(n, c.in_size());
    Works w{{"grouped_weight_gradient", weight_gradient_grid<T>(c), dx + dy,
             bytes(gradient_parts(c), c.weight_size() + c.cols), 1}};
    if (data_gradient)
      w.push_back({"grouped_data_gradient", data_gradient_grid(c, n),
                   dy + weights(c, false) + (below.reads_output ? dx : 0), dx, 1});
    return w;
  }
  static Works backward(const Lookup& s, bool, bool, const Under&, int n) {
    return {{"lookup_gradient", gradient_grid(s), bytes(n, s.positions) + bytes(n, s.positions, s.cols),
             bytes(s.weight_size())}};
  }
  static Works backward(const Window& w, bool, bool data_gradient, const Under& below, int n) {
    if (!data_gradient) return {};
    const double dy = double(w.out_h()) * w.out_w() * w.cols, dx = bytes(n, w.in_size());
    return {{"window_backward", backward_grid(w, n),
             bytes(n, dy) + (w.pooling == pool_max ? indices(n, dy) : 0) + (below.reads_output ? dx : 0),
             dx}};
  }
  static Works backward(const Pointwise& p, bool, bool data_gradient, const Under&, int n) {
    if (!data_gradient) return {};
    const double size = bytes(n, p.in_size());  // x also serves the ops of the stage below
    return {{"pointwise_backward", pointwise_grid(p, n), 2 * size, size}};
  }
  static Works backward(const Norm& s, bool bias, bool data_gradient, const Under&, int n) {
    const double size = bytes(n, s.in_size());
    Works w{{"norm_sums", norm_grid<T>(s, n), 2 * size + bytes(4, s.features()), size + norm_parts(s, n)},
            {"each_thread", grid_of(std::size_t(s.features())), norm_parts(s, n) + bytes(2, s.features()),
             bytes(bias ? 4 : 2, s.features())}};
    if (data_gradient)
      w.push_back({"norm_backward", pointwise_grid(s, n), 2 * size + bytes(4, s.features()), size});
    return w;
  }
  static Works backward(const Dense& d, bool bias, bool data_gradient, const Under&, int n) {
    const double x = bytes(n, d.k);  // for dw, and where dx goes back through the stage below
    return {{"dense_backward", backward_grid<T>(d, data_gradient, n),
             x + bytes(n, d.cols) + (data_gradient ? weights(d, false) : 0),
             (data_gradient ? x : 0) + weights(d, bias), data_gradient ? 2 : 1}};
  }
  static Works backward(const SoftmaxRows& r, bool, bool data_gradient, const Under& below, int n) {
    if (!data_gradient) return {};
    const double size = bytes(n, r.in_size());
    return {{"softmax_backward", rows_grid(n), size * (below.reads_output ? 3 : 2), size}};
  }
  /// To a join's input.
  static Works backward(const Join& j, int input, const Under& below, int n) {
    const StoredImage& in = j.input(input);
    return {{"join_backward", image_grid(in, n), bytes(n, pixels(in)) * (below.reads_output ? 2 : 1),
             bytes(n, pixels(in))}};
  }
  /// The gradient of one that reads an image to those of others.
  static Works add(const StoredImage& s, int n) {
    return {{"add_images", image_grid(s, n), 2 * bytes(n, pixels(s)), bytes(n, pixels(s))}};
  }
  static Works backward(const RowNorm& s, bool, bool data_gradient, const Under&, int n) {
    const double size = bytes(n, s.in_size()), statistics = bytes(2, n, s.rows);
    Works w;
    if (data_gradient || s.affine)
      w.push_back({"row_norm_backward", row_norm_grid(s, n),
                   size * (data_gradient ? 2 : 1),  // x serves below, too
                   statistics + (data_gradient ? size : 0)});
    if (s.affine)
      w.push_back({"row_norm_weight_gradient", weight_gradient_grid<T>(s), 2 * size + statistics,
                   bytes(gradient_parts(s), 2 * s.weight_size())});
    return w;
  }

  /// Parts of a gradient that are added up: how many, of so many weights and biases.
  struct Gathered {
    int parts, weights, biases;
  };
  template <class D>
  static Gathered gathered(const D& d) {
    if constexpr (requires { gradient_parts(d); })
      return {gradient_parts(d), d.weight_size(), d.bias_size()};
    else
      return {};
  }
  static Works gather(const std::vector<Gathered>& all) {
    Works works;
    for (std::size_t i = 0; i < all.size(); i += std::size_t(Gatherings<T>::most)) {
      int largest = 0, count = 0;
      Work w{"gather_parts", {}};
      for (; count < Gatherings<T>::most && i + std::size_t(count) < all.size(); ++count) {
        const Gathered& g = all[i + std::size_t(count)];
        const int size = g.weights + g.biases;
        largest = std::max(largest, size);
        w.read += bytes(g.parts, size);
        w.written += bytes(size);
      }
      w.grid = gather_grid(largest, count);
      works.push_back(w);
    }
    return works;
  }
  /// A loss a sample, and its gradient; outputs as stored.
  static Works loss(int outputs, int n) {
    return {{"mean_of_rows", mean_grid<T>(std::size_t(outputs), n), bytes(n, outputs) + 4. * n,
             bytes(n, outputs) + bytes(n) + 8}};
  }
  /// An optimizer that remembers as many numbers as there are parameters.
  static Works update(std::size_t parameters) {
    return {{"update_each", grid_of(parameters), bytes(3, double(parameters)), bytes(2, double(parameters))}};
  }

 private:
  static double bytes(double a, double b = 1, double c = 1) { return a * b * c * sizeof(T); }
  static double norm_parts(const Norm& s, int n) {
    return bytes(2 * math::ceil_div(n, norm_chunk(n)), s.features());
  }
  static double indices(int n, double each) { return n * each * sizeof(WindowIndex); }
  template <class D>
  static double weights(const D& d, bool bias) {
    return bytes(d.weight_size() + (bias ? d.cols : 0));
  }
  static double pixels(const StoredImage& s) { return double(s.h) * s.w * s.cols; }
  /// Elements of a sample without the border, and those of the input that some output needs.
  static double outputs(const Contraction& c) { return double(c.out_h()) * c.out_w() * c.cols; }
  static double inputs(const Contraction& c, const Given& given) {
    const auto along = [](int out, int stride, int kernel, int size, int border) {
      int count = 0;
      for (int i = border; i < size - border; ++i)  // strides may leave gaps
        count += i - lesser(i / stride, out - 1) * stride < kernel;
      return double(count);
    };
    return along(c.out_h() * c.pool_h, c.stride_h, c.kh, c.h, given.border.h) *
           along(c.out_w() * c.pool_w, c.stride_w, c.kw, c.w, given.border.w) *
           (given.channels > 0 ? given.channels : c.ci);
  }
};

}  // namespace kern::gpu
