#pragma once
#include "layer.hpp"

namespace kern::nn {

/// 2-D convolution (cross-correlation, as PyTorch's): (In, H, W) -> (Out, H', W') with
///   y[o, i, j] = bias[o] + sum over c, a, b of weight[o, c, a, b] * x[c, i*stride.h + a - padding.h,
///   j*stride.w + b - padding.w] H' = (H + 2 padding.h - kernel.h) / stride.h + 1, rounded down
/// Kernel, Stride and Padding are an int or a Size2{h, w}. Parameters: weight (Out, In, kernel.h, kernel.w),
/// bias (Out).
template <int In, int Out, auto Kernel, auto Stride = 1, auto Padding = 0, Bias HasBias = Bias::on>
struct Conv2d {
  static constexpr Size2 kernel = kern::detail::size2(Kernel), stride = kern::detail::size2(Stride),
                         padding = kern::detail::size2(Padding);
  static_assert(In > 0 && Out > 0, "Conv2d: channels are at least 1");
  static_assert(kernel.h > 0 && kernel.w > 0, "Conv2d: a kernel is at least 1 x 1");
  static_assert(stride.h > 0 && stride.w > 0, "Conv2d: a stride is at least 1");
  static_assert(padding.h >= 0 && padding.w >= 0, "Conv2d: padding is not negative");

  static constexpr Lowering lowers_to = Lowering::contraction;
  static constexpr Rule rule(Dims d) {
    Rule r = detail::slide(d, kernel, stride, padding);
    r.out.c = Out;
    if (d.flat)
      r.fault = {Mismatch::conv_needs_image, -1, 3, 1};
    else if (d.c != In)
      r.fault = {Mismatch::conv_in_channels, -1, d.c, In};
    return r;
  }
  static constexpr auto parameters = [] {
    constexpr int fan_in = In * kernel.h * kernel.w;
    constexpr Parameter weight{"weight", {Out, In, kernel.h, kernel.w}, 4, fan_in};
    if constexpr (HasBias == Bias::on)
      return std::array{weight, Parameter{"bias", {Out}, 1, fan_in}};
    else
      return std::array{weight};
  }();
  static std::string repr() {
    return text("Conv2d(", In, ", ", Out, ", kernel_size=", detail::pair_text(kernel),
                ", stride=", detail::pair_text(stride),
                padding == Size2{0, 0} ? "" : ", padding=" + detail::pair_text(padding),
                HasBias == Bias::on ? ")" : ", bias=False)");
  }
};

}  // namespace kern::nn
