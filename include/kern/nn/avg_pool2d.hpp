// Poolings that average.
#pragma once
#include "layer.hpp"

namespace kern::nn {

/// What the sum over a window that hangs over the edge is divided by: all of the window's places, the padding
/// among them, or those inside the input.
enum class CountPadding : bool { off = false, on = true };

/// y[c, i, j] = mean over the window's a, b of x[c, i*stride.h + a - padding.h, j*stride.w + b - padding.w],
/// with 0 for the padding: (C, H, W) -> (C, H', W'), as MaxPool2d. The stride is the kernel if not given.
template <auto Kernel, auto Stride = Kernel, auto Padding = 0, CountPadding Count = CountPadding::on>
struct AvgPool2d {
  static constexpr Size2 kernel = kern::detail::size2(Kernel), stride = kern::detail::size2(Stride),
                         padding = kern::detail::size2(Padding);
  static_assert(kernel.h > 0 && kernel.w > 0, "AvgPool2d: a window is at least 1 x 1");
  static_assert(stride.h > 0 && stride.w > 0, "AvgPool2d: a stride is at least 1");
  static_assert(padding.h >= 0 && padding.w >= 0 && 2 * padding.h <= kernel.h && 2 * padding.w <= kernel.w,
                "AvgPool2d: padding is not negative and at most half the window");

  static constexpr Lowering lowers_to = Lowering::window;
  static constexpr Rule rule(Dims d) {
    Rule r = detail::slide(d, kernel, stride, padding);
    if (d.flat) r.fault = {Mismatch::pool_needs_image, -1, 3, 1};
    r.pooling = Count == CountPadding::on ? stage::pool_mean : stage::pool_mean_inside;
    return r;
  }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() {
    return text("AvgPool2d(kernel_size=", detail::pair_text(kernel), ", stride=", detail::pair_text(stride),
                ", padding=", detail::pair_text(padding),
                Count == CountPadding::on ? ")" : ", count_include_pad=False)");
  }
};

/// (C, H, W) -> (C, Output.h, Output.w), whatever the input's size: y[c, i, j] is the mean over the rows from
/// floor(i H / Output.h) up to, not including, ceil((i + 1) H / Output.h), and likewise the columns. Output
/// is an int or a Size2{h, w}.
template <auto Output>
struct AdaptiveAvgPool2d {
  static constexpr Size2 output = kern::detail::size2(Output);
  static_assert(output.h > 0 && output.w > 0, "AdaptiveAvgPool2d: an output is at least 1 x 1");

  static constexpr Lowering lowers_to = Lowering::window;
  static constexpr Rule rule(Dims d) {
    Rule r{{d.c, output.h, output.w}, {}};
    if (d.flat) r.fault = {Mismatch::pool_needs_image, -1, 3, 1};
    r.pooling = stage::pool_mean_inside;
    r.bins = output;
    return r;
  }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() { return text("AdaptiveAvgPool2d(output_size=", detail::pair_text(output), ")"); }
};

/// The mean of each channel: (C, H, W) -> (C, 1, 1).
using GlobalAvgPool2d = AdaptiveAvgPool2d<1>;

}  // namespace kern::nn
