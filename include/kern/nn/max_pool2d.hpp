#pragma once
#include "layer.hpp"

namespace kern::nn {

/// y[c, i, j] = max over the window's a, b of x[c, i*stride.h + a - padding.h, j*stride.w + b - padding.w]
/// inside the input: (C, H, W) -> (C, H', W'), H' = (H + 2 padding.h - kernel.h) / stride.h + 1, rounded
/// down. Kernel, Stride and Padding are an int or a Size2{h, w}; the stride is the kernel if not given.
template <auto Kernel, auto Stride = Kernel, auto Padding = 0>
struct MaxPool2d {
  static constexpr Size2 kernel = kern::detail::size2(Kernel), stride = kern::detail::size2(Stride),
                         padding = kern::detail::size2(Padding);
  static_assert(kernel.h > 0 && kernel.w > 0, "MaxPool2d: a window is at least 1 x 1");
  static_assert(kernel.h * kernel.w <= 32767, "MaxPool2d: a window has at most 32767 elements");
  static_assert(stride.h > 0 && stride.w > 0, "MaxPool2d: a stride is at least 1");
  static_assert(padding.h >= 0 && padding.w >= 0 && 2 * padding.h <= kernel.h && 2 * padding.w <= kernel.w,
                "MaxPool2d: padding is not negative and at most half the window");

  static constexpr Lowering lowers_to = Lowering::window;
  static constexpr Rule rule(Dims d) {
    Rule r = detail::slide(d, kernel, stride, padding);
    if (d.flat) r.fault = {Mismatch::pool_needs_image, -1, 3, 1};
    return r;
  }
  static constexpr auto parameters = detail::no_parameters;
  static std::string repr() {
    return text("MaxPool2d(kernel_size=", detail::pair_text(kernel), ", stride=", detail::pair_text(stride),
                ", padding=", detail::pair_text(padding), ")");
  }
};

}  // namespace kern::nn
