#pragma once
#include <type_traits>

#include "batch_norm.hpp"

namespace kern::nn {

namespace detail {
/// LayerNorm's template arguments: extents, then what differs from the defaults.
template <auto... A>
struct LayerNormArguments {
  struct Shape {
    std::array<int, 3> extent{};
    int rank = 0;
    bool in_front = true;  // no extent behind another argument
  };
  static constexpr Shape shape = [] {
    Shape s;
    bool other = false;
    const auto take = [&](auto a) {
      if constexpr (std::is_same_v<decltype(a), int>) {
        if (other) s.in_front = false;
        if (s.rank < 3) s.extent[std::size_t(s.rank)] = a;
        ++s.rank;
      } else {
        other = true;
      }
    };
    (take(A), ...);
    return s;
  }();
};
}  // namespace detail

/// y = (x - mean) / sqrt(variance + eps) * weight + bias over all of a sample, mean and variance (the biased
/// one) its own: LayerNorm<F> of a flat sample, LayerNorm<C, H, W> of an image. Behind the shape, as in
/// PyTorch: eps (1e-5), Affine::off for neither weight nor bias, Bias::off for no bias:
/// LayerNorm<64, 1e-6, Affine::off>. Parameters: weight, bias, of the given shape.
template <auto... Arguments>
struct LayerNorm {
 private:
  static constexpr auto shape = detail::LayerNormArguments<Arguments...>::shape;
  static constexpr bool affine = detail::option(Affine::on, Arguments...) == Affine::on;

 public:
  static_assert(detail::count_of<double>(Arguments...) <= 1 && detail::count_of<Affine>(Arguments...) <= 1 &&
                    detail::count_of<Bias>(Arguments...) <= 1 &&
                    shape.rank + detail::count_of<double>(Arguments...) +
                            detail::count_of<Affine>(Arguments...) + detail::count_of<Bias>(Arguments...) ==
                        int(sizeof...(Arguments)),
                "LayerNorm: arguments are extents, eps (a double), Affine and Bias");
  static_assert((shape.rank == 1 || shape.rank == 3) && shape.in_front,
                "LayerNorm: first the shape, <features> or <channels, height, width>");
  static_assert(shape.extent[0] > 0 && (shape.rank == 1 || (shape.extent[1] > 0 && shape.extent[2] > 0)),
                "LayerNorm: an extent is at least 1");
  static constexpr Lowering lowers_to = Lowering::row_norm;
  static constexpr NormRates rates{detail::option(1e-5, Arguments...), 0};
  static_assert(rates.eps >= 0, "LayerNorm: eps is at least 0");

  static constexpr Rule rule(Dims d) {
    Rule r{d, {}};
    const int got[] = {d.flat ? d.size() : d.c, d.h, d.w};
    if (d.rank() != shape.rank) {
      r.fault = {Mismatch::layer_norm_dimensions, -1, d.rank(), shape.rank};
      return r;
    }
    for (int i = 0; i < shape.rank; ++i)
      if (got[i] != shape.extent[std::size_t(i)]) {
        r.fault = {Mismatch::layer_norm_shape, -1, got[i], shape.extent[std::size_t(i)],
                   kern::detail::extent_at(shape.rank, i)};
        break;
      }
    return r;
  }
  static constexpr auto parameters = [] {
    constexpr std::array<int, 4> extents{shape.extent[0], shape.extent[1], shape.extent[2]};
    constexpr Parameter weight{"weight", extents, shape.rank, 1, Initial::one};
    if constexpr (!affine)
      return detail::no_parameters;
    else if constexpr (detail::option(Bias::on, Arguments...) == Bias::on)
      return std::array{weight, Parameter{"bias", extents, shape.rank, 1, Initial::zero}};
    else
      return std::array{weight};
  }();
  static std::string repr() {
    std::string extents = text(shape.extent[0]);
    for (int i = 1; i < shape.rank; ++i) extents += text(", ", shape.extent[std::size_t(i)]);
    return text("LayerNorm((", extents, shape.rank == 1 ? ",)" : ")",
                ", eps=", detail::number_text(rates.eps), ", elementwise_affine=", affine ? "True" : "False",
                !affine || parameters.size() == 2 ? ")" : ", bias=False)");
  }
};

}  // namespace kern::nn
