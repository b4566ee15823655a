// clang-format off
// What a layer is: a pure declaration. It says, as constants and constexpr functions,
//   static constexpr Lowering lowers_to       which kind of stage it is, or whether it joins the one before it
//   static constexpr Rule rule(Dims in)       what it makes of a sample's shape, or what is wrong
//   static constexpr auto parameters          its parameters by PyTorch's names, layouts and initial distributions
//   op<bool Flat>(std::uint32_t layer)        (pointwise layers) its op, from ops/
//   static constexpr NormRates rates          (normalisations) eps and momentum
//   static constexpr auto buffers             (normalisations) what is kept beside parameters and is not trained
//   static std::string repr()                 PyTorch's text of it
// Loops over elements stand in the backends, decisions about fusion in graph/fold.hpp.
// clang-format on
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "../core/mismatch.hpp"
#include "../core/shape.hpp"
#include "../core/stage.hpp"

namespace kern {

/// A sample's shape: an image (c, h, w), or flat, c * h * w features in that order.
struct Dims {
  int c = 0, h = 1, w = 1;
  bool flat = false;
  constexpr int size() const { return c * h * w; }
  constexpr int rank() const { return flat ? 1 : 3; }
  friend constexpr bool operator==(Dims, Dims) = default;
};

namespace nn {

/// Whether a layer has a bias.
enum class Bias : bool { off = false, on = true };

enum class Lowering {
  contraction,  // a stage: convolution
  grouped,      // a stage: convolution in groups of channels, or dilated
  lookup,       // the first stage: embedding
  dense,        // a stage: linear
  window,       // part of the contraction before it, or a stage
  pointwise,    // an op in the chain of the stage before it
  view,         // nothing
  softmax,      // a stage; its logarithm may be part of the loss
  norm,         // a stage; in inference part of the one before it
  join,         // a stage: reads two layers; its rule takes two shapes
  row_norm,     // a stage: a layer normalisation
};

/// A batch normalisation's numbers: see BatchNorm2d.
struct NormRates {
  double eps = 0, momentum = 0;
};

/// What a layer makes of a shape, and its geometry: filled in whether there is a fault or not.
struct Rule {
  Dims out{};
  ShapeFault fault{};
  Size2 kernel{1, 1}, stride{1, 1}, padding{0, 0};
  stage::Pooling pooling = stage::pool_max;
  Size2 bins{0, 0};        // of a pooling to a given size
  bool logarithm = false;  // of a softmax
  Size2 dilation{1, 1};    // these of a convolution
  int groups = 1;
  int rows = 0, padding_row = -1;  // of an embedding
};

/// How a parameter begins: U(-b, b) with b = 1 / sqrt(fan_in), what PyTorch's kaiming_uniform_(a = sqrt(5))
/// comes to; or all 0, or all 1; or N(0, 1).
enum class Initial { uniform, zero, one, normal };

/// A parameter: its shape as PyTorch stores it.
struct Parameter {
  const char* name;
  std::array<int, 4> shape;
  int rank;
  int fan_in;
  Initial initial = Initial::uniform;
  int zero_row = -1;  // of the first extent: begins as 0
  constexpr std::size_t size() const {
    std::size_t n = 1;
    for (int i = 0; i < rank; ++i) n *= std::size_t(shape[std::size_t(i)]);
    return n;
  }
};

namespace detail {
inline constexpr std::array<Parameter, 0> no_parameters{};

constexpr int window_count(int in, int kernel, int stride, int padding) {
  return (in + 2 * padding - kernel) / stride + 1;
}
/// The shape after a window has moved over d; channels unchanged.
constexpr Rule slide(Dims d, Size2 kernel, Size2 stride, Size2 padding, Size2 dilation = {1, 1}) {
  const int h = d.h + 2 * padding.h, w = d.w + 2 * padding.w;
  const Size2 window{dilation.h * (kernel.h - 1) + 1, dilation.w * (kernel.w - 1) + 1};
  Rule r{d, {}, kernel, stride, padding};
  r.dilation = dilation;
  if (h < window.h)
    r.fault = {Mismatch::window_larger_than_input, -1, h, window.h, ShapeExtent::height};
  else if (w < window.w)
    r.fault = {Mismatch::window_larger_than_input, -1, w, window.w, ShapeExtent::width};
  else
    r.out = {d.c, window_count(d.h, window.h, stride.h, padding.h),
             window_count(d.w, window.w, stride.w, padding.w)};
  return r;
}
/// A layer's optional template arguments: the one of type Option, or what it is by default.
template <class Option, class... Given>
constexpr Option option(Option otherwise, [[maybe_unused]] Given... given) {
  [[maybe_unused]] const auto take = [&](auto g) {
    if constexpr (std::is_same_v<decltype(g), Option>) otherwise = g;
  };
  (take(given), ...);
  return otherwise;
}
/// How many of them are of type Option.
template <class Option, class... Given>
constexpr int count_of(Given...) {
  return (int(std::is_same_v<Given, Option>) + ... + 0);
}
inline std::string pair_text(Size2 s) { return text("(", s.h, ", ", s.w, ")"); }
/// As Python prints it: 1e-05, 0.1, 1.0.
inline std::string number_text(double v) {
  char digits[32];
  for (int n = 1; n <= 17; ++n) {
    std::snprintf(digits, sizeof digits, "%.*g", n, v);
    if (std::strtod(digits, nullptr) == v) break;
  }
  const std::string s = digits;
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}
}  // namespace detail
}  // namespace nn
}  // namespace kern
