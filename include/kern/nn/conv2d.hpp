#pragma once
#include "layer.hpp"

namespace kern::nn {

/// In how many groups of channels a convolution works: each output channel sees those of its group.
struct Groups {
  int count;
};
/// How far apart the taps of a convolution's kernel are: Dilation{2}, Dilation{2, 1} along height and width.
struct Dilation {
  int h, w;
  constexpr Dilation(int both) : h(both), w(both) {}
  constexpr Dilation(int along_h, int along_w) : h(along_h), w(along_w) {}
};

/// 2-D convolution (cross-correlation, as PyTorch's): (In, H, W) -> (Out, H', W') with
///   y[o, i, j] = bias[o] + sum over c, a, b of weight[o, c, a, b] * x[first(o) + c, p, q],
///   p = i * stride.h + a * dilation.h - padding.h, q likewise of j and b,
///   H' = (H + 2 padding.h - dilation.h (kernel.h - 1) - 1) / stride.h + 1, rounded down.
/// Kernel, Stride and Padding are an int or a Size2{h, w}. Behind them, in any order, what differs from the
/// defaults: Dilation{1}, Groups{1}, Bias::on: Conv2d<32, 32, 3, 1, 1, Groups{32}, Bias::off>. In groups, c
/// goes over the In / groups channels from first(o) on, that of o's group. Parameters: weight (Out, In /
/// groups, kernel.h, kernel.w), bias (Out).
template <int In, int Out, auto Kernel, auto Stride = 1, auto Padding = 0, auto... Options>
struct Conv2d {
  static constexpr Size2 kernel = kern::detail::size2(Kernel), stride = kern::detail::size2(Stride),
                         padding = kern::detail::size2(Padding);
  static constexpr int groups = detail::option(Groups{1}, Options...).count;
  static constexpr Size2 dilation{detail::option(Dilation{1}, Options...).h,
                                  detail::option(Dilation{1}, Options...).w};
  static constexpr bool has_bias = detail::option(Bias::on, Options...) == Bias::on;
  static_assert(In > 0 && Out > 0, "Conv2d: channels are at least 1");
  static_assert(kernel.h > 0 && kernel.w > 0, "Conv2d: a kernel is at least 1 x 1");
  static_assert(stride.h > 0 && stride.w > 0, "Conv2d: a stride is at least 1");
  static_assert(padding.h >= 0 && padding.w >= 0, "Conv2d: padding is not negative");
  static_assert(groups > 0, "Conv2d: there is at least 1 group");
  static_assert(dilation.h > 0 && dilation.w > 0, "Conv2d: a dilation is at least 1");
  static_assert(detail::count_of<Groups>(Options...) <= 1 && detail::count_of<Dilation>(Options...) <= 1 &&
                    detail::count_of<Bias>(Options...) <= 1 &&
                    detail::count_of<Groups>(Options...) + detail::count_of<Dilation>(Options...) +
                            detail::count_of<Bias>(Options...) ==
                        int(sizeof...(Options)),
                "Conv2d: behind the padding come Dilation, Groups and Bias, each once at most");

  static constexpr Lowering lowers_to =
      groups == 1 && dilation == Size2{1, 1} ? Lowering::contraction : Lowering::grouped;
  static constexpr Rule rule(Dims d) {
    Rule r = detail::slide(d, kernel, stride, padding, dilation);
    r.out.c = Out;
    r.groups = groups;
    if (d.flat)
      r.fault = {Mismatch::conv_needs_image, -1, 3, 1};
    else if (d.c != In)
      r.fault = {Mismatch::conv_in_channels, -1, d.c, In};
    else if (In % groups != 0)
      r.fault = {Mismatch::conv_in_groups, -1, In, groups};
    else if (Out % groups != 0)
      r.fault = {Mismatch::conv_out_groups, -1, Out, groups};
    return r;
  }
  static constexpr auto parameters = [] {
    constexpr int in = In / groups, fan_in = in * kernel.h * kernel.w;
    constexpr Parameter weight{"weight", {Out, in, kernel.h, kernel.w}, 4, fan_in};
    if constexpr (has_bias)
      return std::array{weight, Parameter{"bias", {Out}, 1, fan_in}};
    else
      return std::array{weight};
  }();
  static std::string repr() {
    return text("Conv2d(", In, ", ", Out, ", kernel_size=", detail::pair_text(kernel),
                ", stride=", detail::pair_text(stride),
                padding == Size2{0, 0} ? "" : ", padding=" + detail::pair_text(padding),
                dilation == Size2{1, 1} ? "" : ", dilation=" + detail::pair_text(dilation),
                groups == 1 ? "" : text(", groups=", groups), has_bias ? ")" : ", bias=False)");
  }
};

}  // namespace kern::nn
