// What a stage computes, in numbers: all that a backend is told. Plain structs of ints, so that they can be
// template arguments (see Known). Activations are NHWC; `ci` and `cols` are channels as stored, padded with
// zeros.
#pragma once
#include <bit>
#include <cstdint>

#include "device_code.hpp"

namespace kern::stage {

/// Convolution, with a max-pool behind it:
///   y[i, j, o] = max over the pool's window of  sum x[i*stride_h + a, j*stride_w + b, c] * w[a, b, c, o]
///   over a, b, c
/// The input is stored with its padding around it (zeros); the output likewise, with the border that its
/// reader wants.
struct Contraction {
  int h, w, ci;            // input: height and width with its padding; channels as stored
  int kh, kw;              // kernel
  int co, cols;            // output channels; as stored
  int stride_h, stride_w;  // of the convolution
  int pool_h, pool_w;      // max-pool windows side by side, rest dropped; 1: none
  int border_h, border_w;  // zeros around the output

  /// Before pooling.
  KERN_HOST_DEVICE constexpr int conv_h() const { return (h - kh) / stride_h + 1; }
  KERN_HOST_DEVICE constexpr int conv_w() const { return (w - kw) / stride_w + 1; }
  /// After pooling, without the border.
  KERN_HOST_DEVICE constexpr int out_h() const { return conv_h() / pool_h; }
  KERN_HOST_DEVICE constexpr int out_w() const { return conv_w() / pool_w; }
  /// Elements from one stored output row to the next.
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (out_w() + 2 * border_w) * cols; }
  /// Where the first output stands, behind the border.
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  /// Products summed for one output.
  KERN_HOST_DEVICE constexpr int k() const { return kh * kw * ci; }
  /// Elements stored a sample.
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * ci; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (out_h() + 2 * border_h) * out_pitch(); }
  KERN_HOST_DEVICE constexpr int weight_size() const { return k() * cols; }
  KERN_HOST_DEVICE constexpr int bias_size() const { return cols; }
  KERN_HOST_DEVICE constexpr bool pooled() const { return pool_h * pool_w > 1; }
};

/// Convolution in groups of channels, or with a dilated kernel:
///   y[i, j, o] = sum x[i*stride_h + a*dilation_h, j*stride_w + b*dilation_w, first(o) + k] * w[a, b, k, o]
///   over a, b and k < group_in(),  first(o) = o / group_out() * group_in()
/// Borders as a Contraction's.
struct GroupedContraction {
  int h, w, ci;                // input: height and width with its padding; channels as stored
  int kh, kw;                  // kernel
  int in, co, cols;            // input channels, output channels; as stored
  int groups;                  // of channels, on either side
  int stride_h, stride_w;      //
  int dilation_h, dilation_w;  // from one tap of the kernel to the next
  int border_h, border_w;      // zeros around the output

  KERN_HOST_DEVICE constexpr int out_h() const { return (h - (kh - 1) * dilation_h - 1) / stride_h + 1; }
  KERN_HOST_DEVICE constexpr int out_w() const { return (w - (kw - 1) * dilation_w - 1) / stride_w + 1; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (out_w() + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * ci; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (out_h() + 2 * border_h) * out_pitch(); }
  /// Channels of a group.
  KERN_HOST_DEVICE constexpr int group_in() const { return in / groups; }
  KERN_HOST_DEVICE constexpr int group_out() const { return co / groups; }
  KERN_HOST_DEVICE constexpr bool depthwise() const { return groups == in && groups == co; }
  KERN_HOST_DEVICE constexpr int weight_size() const { return kh * kw * group_in() * cols; }
  KERN_HOST_DEVICE constexpr int bias_size() const { return cols; }
  /// Where tap (a, b) of the kernel stands from the first on; and that of output (i, j).
  KERN_HOST_DEVICE constexpr int tap_at(int a, int b) const {
    return (a * dilation_h * w + b * dilation_w) * ci;
  }
  KERN_HOST_DEVICE constexpr int in_at(int i, int j, int a, int b) const {
    return (i * stride_h * w + j * stride_w) * ci + tap_at(a, b);
  }
};

/// y[o] = sum x[i] * w[i, o] over i: a linear layer. Flatten before it costs nothing: i counts as x is
/// stored.
struct Dense {
  int k;         // inputs, as stored
  int co, cols;  // outputs; as stored
  KERN_HOST_DEVICE constexpr int in_size() const { return k; }
  KERN_HOST_DEVICE constexpr int out_size() const { return cols; }
  KERN_HOST_DEVICE constexpr int weight_size() const { return k * cols; }
};

/// y[i] = the row of w whose number x[i] is: an embedding. x has `positions` whole numbers a sample, y a
/// pixel for each, one below the other.
struct Lookup {
  int positions, rows;     // rows of w
  int c, cols;             // channels of y: elements of a row; as stored
  int border_h, border_w;  // zeros around the output
  int padding;             // the row that gets no gradient; -1: none

  KERN_HOST_DEVICE constexpr int out_h() const { return positions; }
  KERN_HOST_DEVICE constexpr int out_w() const { return 1; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (1 + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return positions; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (positions + 2 * border_h) * out_pitch(); }
  KERN_HOST_DEVICE constexpr int weight_size() const { return rows * cols; }
};

/// The part [first, last) of a side of the input that lies in a window.
struct Span {
  int first, last;
  KERN_HOST_DEVICE constexpr int size() const { return last - first; }
};

/// What a window makes of its elements.
enum Pooling : int {
  pool_max = 0,
  pool_mean = 1,         // the padding counts as zeros
  pool_mean_inside = 2,  // of those inside the input
};

/// The largest, or the mean, over windows of each channel:
///   y[i, j, c] = max x[i*stride_h - pad_h + a, j*stride_w - pad_w + b, c]  over a < kh, b < kw inside the
///   input
/// or, where bins_h > 0, over bins_h x bins_w windows that cover the input: window i of a side of n has the
/// elements from floor(i n / bins) up to, not including, ceil((i + 1) n / bins). The input has no border.
struct Window {
  int h, w;                    // input
  int c, cols;                 // channels; as stored, in x and y
  int kh, kw;                  // window
  int stride_h, stride_w;      //
  int pad_h, pad_w;            // the window may hang over by this much
  int border_h, border_w;      // zeros around the output
  int pooling = pool_max;      // a Pooling
  int bins_h = 0, bins_w = 0;  // 0: by kh, stride_h and pad_h

  KERN_HOST_DEVICE constexpr int out_h() const { return windows(h, kh, stride_h, pad_h, bins_h); }
  KERN_HOST_DEVICE constexpr int out_w() const { return windows(w, kw, stride_w, pad_w, bins_w); }
  /// The rows of window row i; the columns of window column j.
  KERN_HOST_DEVICE constexpr Span rows(int i) const { return span(i, h, kh, stride_h, pad_h, bins_h); }
  KERN_HOST_DEVICE constexpr Span columns(int j) const { return span(j, w, kw, stride_w, pad_w, bins_w); }
  /// The window rows that input row y is in; the window columns that input column x is in.
  KERN_HOST_DEVICE constexpr Span windows_of_row(int y) const {
    return at(y, h, kh, stride_h, pad_h, bins_h);
  }
  KERN_HOST_DEVICE constexpr Span windows_of_column(int x) const {
    return at(x, w, kw, stride_w, pad_w, bins_w);
  }
  /// By what the sum of a window with these rows and columns is divided.
  KERN_HOST_DEVICE constexpr int divisor(Span rows, Span columns) const {
    return pooling == pool_mean ? kh * kw : rows.size() * columns.size();
  }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (out_w() + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * cols; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (out_h() + 2 * border_h) * out_pitch(); }

 private:
  KERN_HOST_DEVICE static constexpr int windows(int n, int k, int stride, int pad, int bins) {
    return bins > 0 ? bins : (n + 2 * pad - k) / stride + 1;
  }
  KERN_HOST_DEVICE static constexpr Span span(int i, int n, int k, int stride, int pad, int bins) {
    if (bins > 0) return {i * n / bins, ((i + 1) * n + bins - 1) / bins};
    const int at = i * stride - pad;
    return {at < 0 ? 0 : at, at + k < n ? at + k : n};
  }
  KERN_HOST_DEVICE static constexpr Span at(int x, int n, int k, int stride, int pad, int bins) {
    const int count = windows(n, k, stride, pad, bins);
    if (bins > 0) return {x * bins / n, ((x + 1) * bins + n - 1) / n};
    const int p = x + pad, first = p < k ? 0 : (p - k) / stride + 1, last = p / stride + 1;
    return {first, last < count ? last : count};
  }
};

/// y = x, for ops that no other stage can take along. The input has no border.
struct Pointwise {
  int h, w;
  int c, cols;             // channels; as stored, in x and y
  int border_h, border_w;  // zeros around the output

  KERN_HOST_DEVICE constexpr int out_h() const { return h; }
  KERN_HOST_DEVICE constexpr int out_w() const { return w; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * cols; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (h + 2 * border_h) * out_pitch(); }
};

/// y = x * scale + shift, a scale and a shift for each channel or, with each_pixel, for each element of a
/// sample: what a batch normalisation is once its statistics are known. The input has no border.
struct Norm {
  int h, w;
  int c, cols;             // channels; as stored, in x and y
  int border_h, border_w;  // zeros around the output
  int each_pixel;          // 1: every element is a feature of its own

  KERN_HOST_DEVICE constexpr int out_h() const { return h; }
  KERN_HOST_DEVICE constexpr int out_w() const { return w; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * cols; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (h + 2 * border_h) * out_pitch(); }
  /// Features as stored, and the elements of each in a sample.
  KERN_HOST_DEVICE constexpr int features() const { return each_pixel ? in_size() : cols; }
  KERN_HOST_DEVICE constexpr int positions() const { return each_pixel ? 1 : h * w; }
  /// From one pixel's features to the next one's.
  KERN_HOST_DEVICE constexpr int feature_step() const { return each_pixel ? cols : 0; }
};

/// y = (x - mean) / sqrt(variance + eps) * w + b, mean and variance those of a row, w and b a number for each
/// place of a row: layer normalisation. A sample is `rows` rows of as many pixels each. The input has no
/// border.
struct RowNorm {
  int h, w;
  int c, cols;             // channels; as stored, in x and y
  int border_h, border_w;  // zeros around the output
  int rows;                // 1: all of the sample is a row
  int affine;              // 1: there is w, and maybe b
  int eps_high, eps_low;   // eps, the halves of a double

  static constexpr RowNorm of(Pointwise p, int rows, bool affine, double eps) {
    const auto bits = std::bit_cast<std::uint64_t>(eps);
    return {
        p.h, p.w, p.c, p.cols, 0, 0, rows, affine, int(std::uint32_t(bits >> 32)), int(std::uint32_t(bits))};
  }
  KERN_HOST_DEVICE constexpr double eps() const {
    return __builtin_bit_cast(double, std::uint64_t(std::uint32_t(eps_high)) << 32 | std::uint32_t(eps_low));
  }
  KERN_HOST_DEVICE constexpr int out_h() const { return h; }
  KERN_HOST_DEVICE constexpr int out_w() const { return w; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return h * w * cols; }
  KERN_HOST_DEVICE constexpr int out_size() const { return (h + 2 * border_h) * out_pitch(); }
  /// Of a row: its pixels, its elements as stored, and those that count.
  KERN_HOST_DEVICE constexpr int pixels() const { return h * w / rows; }
  KERN_HOST_DEVICE constexpr int weight_size() const { return pixels() * cols; }
  KERN_HOST_DEVICE constexpr int bias_size() const { return weight_size(); }
  KERN_HOST_DEVICE constexpr int count() const { return pixels() * c; }
  /// Where a row's element stands in a sample's output.
  KERN_HOST_DEVICE constexpr int out_at(int row, int element) const {
    const int pixel = row * pixels() + element / cols;
    return out_origin() + pixel / w * out_pitch() + pixel % w * cols + element % cols;
  }
};

/// y = exp x / sum of exp x, or its logarithm, over each of `rows` rows: `pixels` times c channels, stored as
/// cols. No border on either side.
struct SoftmaxRows {
  int rows, pixels, c, cols;
  int log;  // 1: y = x - log(sum of exp x)
  KERN_HOST_DEVICE constexpr int in_size() const { return rows * pixels * cols; }
  KERN_HOST_DEVICE constexpr int out_size() const { return rows * pixels * cols; }
};

/// How a stage's output is stored: pixels of `cols` channels, c of them real, a border of zeros around.
struct StoredImage {
  int c, h, w, cols;
  int border_h, border_w;
  KERN_HOST_DEVICE constexpr int pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int origin() const { return border_h * pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int size() const { return (h + 2 * border_h) * pitch(); }
  /// Where channel k of a pixel stands.
  KERN_HOST_DEVICE constexpr int at(int k, int pixel) const {
    return origin() + pixel / w * pitch() + pixel % w * cols + k;
  }
};

/// How two outputs become one.
enum Joining : int {
  join_sum = 0,
  join_channels = 1,  // one's channels behind the other's
};

/// y = a + b, or a's channels and then b's. The inputs' pixels are those of the output; or these are flat,
/// and their elements are counted as PyTorch does, [c][h][w].
struct Join {
  int h, w;
  int c, cols;             // channels; as stored
  int border_h, border_w;  // zeros around the output
  int joining;             // a Joining
  StoredImage a, b;

  KERN_HOST_DEVICE constexpr int out_h() const { return h; }
  KERN_HOST_DEVICE constexpr int out_w() const { return w; }
  KERN_HOST_DEVICE constexpr int out_pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int out_origin() const { return border_h * out_pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int in_size() const { return a.size() + b.size(); }
  KERN_HOST_DEVICE constexpr int out_size() const { return (h + 2 * border_h) * out_pitch(); }
  KERN_HOST_DEVICE constexpr StoredImage output() const { return {c, h, w, cols, border_h, border_w}; }

  /// An input by its number, its channels in the output, and the first of these.
  KERN_HOST_DEVICE constexpr const StoredImage& input(int number) const { return number == 0 ? a : b; }
  KERN_HOST_DEVICE constexpr int channels(int number) const {
    const StoredImage& in = input(number);
    return pixel_by_pixel(in) ? in.c : in.c * in.h * in.w;
  }
  KERN_HOST_DEVICE constexpr int first_channel(int number) const {
    return joining == join_channels && number == 1 ? channels(0) : 0;
  }
  KERN_HOST_DEVICE constexpr bool pixel_by_pixel(const StoredImage& in) const { return in.h * in.w == h * w; }
  /// Where in the input is what its k-th channel in the output has at a pixel; and the other way round.
  KERN_HOST_DEVICE constexpr int in_at(const StoredImage& in, int k, int pixel) const {
    return pixel_by_pixel(in) ? in.at(k, pixel) : in.at(k / (in.h * in.w), k % (in.h * in.w));
  }
  KERN_HOST_DEVICE constexpr int out_at(const StoredImage& in, int first, int k, int pixel) const {
    return pixel_by_pixel(in) ? output().at(first + k, pixel)
                              : output().at(first + k * in.h * in.w + pixel, 0);
  }
};

/// How a sample is stored that comes as PyTorch has it, [c][h][w]: pixels of `cols` channels, a border of
/// zeros around.
struct Entry {
  int c, h, w, cols;
  int border_h, border_w;
  KERN_HOST_DEVICE constexpr int size() const { return c * h * w; }
  /// Elements from one stored row to the next; where the first pixel stands; elements stored.
  KERN_HOST_DEVICE constexpr int pitch() const { return (w + 2 * border_w) * cols; }
  KERN_HOST_DEVICE constexpr int origin() const { return border_h * pitch() + border_w * cols; }
  KERN_HOST_DEVICE constexpr int stored_size() const { return (h + 2 * border_h) * pitch(); }
};

/// Samples [first, last) of a batch, for one worker. whole: all of them, for the backend to split as it
/// likes. Pointers handed along with a slice stand at its first sample.
struct Slice {
  static constexpr int whole = -1;
  int first, last, worker;
  constexpr int count() const { return last - first; }
};

/// A stage's parameters: weight as stored ([kh][kw][ci][cols], bias [cols] or null), and the weight in the
/// forms that the backend prepared for either direction.
template <class T>
struct Weights {
  const T* weight = nullptr;
  const T* bias = nullptr;
  const T* forward = nullptr;
  const T* backward = nullptr;
};

/// Which input won, counted within its window: a * kw + b.
using WindowIndex = std::int16_t;

/// What a stage's forward pass reads and writes, from the slice's first sample on. X: of the first stage what
/// the backend has for a batch, if it reads samples itself.
template <class T, class X = const T*>
struct ForwardPass {
  X x;
  Weights<T> w;
  T* y;
  WindowIndex* argmax;       // y's layout; null where nobody will ask (inference)
  const T* other = nullptr;  // the second input of a Join
};

/// What its backward pass reads and writes. dy comes in as dL/dy and may be overwritten; borders of dy and dx
/// hold anything. dw, db: a chunk's partial sums in the backend's own layout (Contraction), or the gradient
/// itself (Dense).
template <class T, class X = const T*>
struct BackwardPass {
  X x;
  Weights<T> w;
  const T* y;
  const WindowIndex* argmax;
  T* dy;
  T* dx;
  T* dw;
  T* db;
};

/// The stage whose output is this one's input, and its pointwise ops: for a backend whose backward pass takes
/// dx through them while it is in registers.
template <class D, class Chain>
struct Below {
  D d;
  Chain chain;
};
struct NoBelow {};

}  // namespace kern::stage

// Those who speak of stages all the time.
namespace kern::host {
using namespace stage;
}
namespace kern::gpu {
using namespace stage;
}
namespace kern::graph {
using namespace stage;
}
