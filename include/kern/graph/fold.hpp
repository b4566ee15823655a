// A net and the shape of its input become a plan. One constexpr function computes it, for a static net in the
// compiler and for an erased one at run time. What is fused depends on the layers alone, never on the input's
// size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "../core/simd.hpp"
#include "../ops/chain.hpp"
#include "plan.hpp"

namespace kern::graph {

/// What fold() asks of a layer.
struct LayerTraits {
  nn::Lowering lowers_to;
  nn::Rule (*rule)(Dims);
  bool monotone;  // these of its op
  ops::Needs needs;
  ops::Keeps keeps;
  std::size_t parameters;  // elements
  bool has_bias;
  nn::NormRates rates{};
};

template <class L>
constexpr LayerTraits traits_of() {
  LayerTraits t{L::lowers_to, &L::rule, true, {}, {}, 0, L::parameters.size() > 1};
  for (const nn::Parameter& p : L::parameters) t.parameters += p.size();
  if constexpr (L::lowers_to == nn::Lowering::pointwise) {
    using Op = decltype(L::template op<false>(0));
    t.monotone = Op::monotone;
    t.needs = Op::needs;
    t.keeps = Op::keeps;
  }
  if constexpr (L::lowers_to == nn::Lowering::norm) t.rates = L::rates;
  return t;
}

namespace detail {

template <int N>
class Folder {
 public:
  constexpr Folder(Dims in, Layout layout, Mode mode)
      : layout_(layout), mode_(mode), d_(in), image_(!in.flat) {
    plan_.input = in;
  }

  constexpr Plan<N> fold(const std::array<LayerTraits, std::size_t(N)>& layers, bool checked) {
    if (checked && too_large(0, size_of(d_, round_up(std::min(d_.c, most), layout_.channel_multiple))))
      return plan_;
    cols_ = reads_unpadded(layers) ? d_.c : round_up(d_.c, layout_.channel_multiple);
    plan_.input_cols = cols_;
    for (int i = 0; i < N; ++i) {
      const LayerTraits& l = layers[std::size_t(i)];
      const nn::Rule r = l.rule(d_);
      if (checked && r.fault.kind != Mismatch::none) {
        plan_.fault = r.fault;
        plan_.fault.layer = i;
        return plan_;
      }
      if (checked && too_large(i, stored_size(l, r))) return plan_;
      add(i, l, r);
      plan_.parameters += l.parameters;
      plan_.dims[std::size_t(i)] = d_ = r.out;
      if (plan_.stages) current().last = i + 1, current().flat = r.out.flat;
    }
    if (!plan_.stages) pointwise_stage(N - 1, Boundary::output), current().flat = d_.flat;
    place();
    return plan_;
  }

 private:
  // Sizes are ints; the slack is for borders and for adding two of them.
  static constexpr int most = 1 << 30;
  static constexpr double size_of(Dims d, int cols, Size2 border = {0, 0}) {
    return (d.h + 2. * border.h) * (d.w + 2. * border.w) * cols;
  }
  /// The largest of what a layer needs: its input with a border, its output, its weight.
  constexpr double stored_size(const LayerTraits& l, const nn::Rule& r) const {
    const int cols = round_up(std::min(r.out.c, most), layout_.channel_multiple);
    double largest = std::max(size_of(d_, cols_, r.padding), size_of(r.out, cols));
    if (l.lowers_to == nn::Lowering::contraction)
      largest = std::max(largest, double(r.kernel.h) * r.kernel.w * cols_ * cols);
    if (l.lowers_to == nn::Lowering::dense) largest = std::max(largest, size_of(d_, cols_) * cols);
    return largest;
  }
  constexpr bool too_large(int layer, double elements) {
    if (elements <= most) return false;
    constexpr double million = 1e6;
    plan_.fault = {Mismatch::too_large, layer, int(most / million), int(std::min(elements / million, 2e9))};
    return true;
  }
  constexpr Stage& current() { return plan_.stage[std::size_t(plan_.stages - 1)]; }

  static constexpr bool reads_unpadded(const std::array<LayerTraits, std::size_t(N)>& layers) {
    for (const LayerTraits& l : layers)
      if (l.lowers_to != nn::Lowering::view)
        return l.lowers_to == nn::Lowering::contraction || l.lowers_to == nn::Lowering::dense;
    return false;
  }

  constexpr void add(int i, const LayerTraits& l, const nn::Rule& r) {
    switch (l.lowers_to) {
      case nn::Lowering::contraction:
        return contraction(i, l, r);
      case nn::Lowering::dense:
        return dense(i, l, r);
      case nn::Lowering::window:
        return window(i, r);
      case nn::Lowering::pointwise:
        return pointwise(i, l);
      case nn::Lowering::softmax:
        return softmax(i, r.logarithm);
      case nn::Lowering::norm:
        return norm(i, l);
      case nn::Lowering::view:
        return;
    }
  }
  constexpr void begin(Kind kind, int layer, Boundary why) {
    if (plan_.stages) current().boundary = why;
    Stage& s = plan_.stage[std::size_t(plan_.stages++)];
    s.kind = kind;
    s.anchor = s.first = layer;
    s.last = layer + 1;
    s.stored_in = cols_;
    monotone_ = true;
    needs_ = ops::Needs::nothing;
    ops_ = false;
  }
  constexpr void parameters(const LayerTraits& l, int h, int w, int in, int out) {
    Stage& s = current();
    s.has_bias = l.has_bias;
    s.param_h = h, s.param_w = w, s.param_in = in, s.param_out = out;
  }
  constexpr void contraction(int i, const LayerTraits& l, const nn::Rule& r) {
    border(i, r.padding);
    begin(Kind::contraction, i, Boundary::contraction_reads);
    const int cols = round_up(r.out.c, layout_.channel_multiple);
    current().contraction = {d_.h + 2 * r.padding.h,
                             d_.w + 2 * r.padding.w,
                             cols_,
                             r.kernel.h,
                             r.kernel.w,
                             r.out.c,
                             cols,
                             r.stride.h,
                             r.stride.w,
                             1,
                             1,
                             0,
                             0};
    parameters(l, r.kernel.h, r.kernel.w, d_.c, r.out.c);
    cols_ = cols;
  }
  /// What stands before a convolution keeps a border of zeros for its padding.
  constexpr void border(int i, Size2 padding) {
    if (padding == Size2{0, 0}) return;
    if (!plan_.stages) {
      plan_.input_border_h = padding.h, plan_.input_border_w = padding.w;
      return;
    }
    if (current().kind == Kind::softmax) {  // it writes no border: a copy does
      const int last = current().last;
      pointwise_stage(i, Boundary::after_softmax);
      current().last = last;
    }
    Stage& s = current();
    if (s.kind == Kind::contraction)
      s.contraction.border_h = padding.h, s.contraction.border_w = padding.w;
    else if (s.kind == Kind::window)
      s.window.border_h = padding.h, s.window.border_w = padding.w;
    else if (s.kind == Kind::norm)
      s.norm.border_h = padding.h, s.norm.border_w = padding.w;
    else
      s.pointwise.border_h = padding.h, s.pointwise.border_w = padding.w;
  }
  constexpr void dense(int i, const LayerTraits& l, const nn::Rule& r) {
    begin(Kind::dense, i, Boundary::dense_reads);
    image_ = false;
    const int cols = round_up(r.out.c, layout_.channel_multiple);
    current().dense = {d_.h * d_.w * cols_, r.out.c, cols};
    parameters(l, d_.h, d_.w, d_.c, r.out.c);
    cols_ = cols;
  }
  constexpr void pointwise_stage(int layer, Boundary why) {
    begin(Kind::pointwise, layer, why);
    current().pointwise = {d_.h, d_.w, d_.c, cols_, 0, 0};
  }
  constexpr void window(int i, const nn::Rule& r) {
    Boundary why = Boundary::output;
    if (plan_.stages) {
      Stage& s = current();
      if (s.kind == Kind::softmax)
        why = Boundary::after_softmax;
      else if (r.pooling != pool_max)
        why = Boundary::mean_reads;
      else if (s.kind != Kind::contraction || s.contraction.pooled())
        why = Boundary::pooled_twice;
      else if (r.kernel != r.stride || r.padding != Size2{0, 0})
        why = Boundary::windows_overlap;
      else if (!layout_.fuses_pool(r.kernel.h, r.kernel.w))
        why = Boundary::window_too_large;
      else if (!monotone_)
        why = Boundary::not_monotone;
      else {
        s.contraction.pool_h = r.kernel.h, s.contraction.pool_w = r.kernel.w;
        s.indexed = s.contraction.pooled();
        return;
      }
    }
    begin(Kind::window, i, why);
    current().window = {d_.h,        d_.w,        d_.c, cols_, r.kernel.h, r.kernel.w, r.stride.h, r.stride.w,
                        r.padding.h, r.padding.w, 0,    0,     r.pooling,  r.bins.h,   r.bins.w};
    current().indexed = r.pooling == pool_max;
  }
  constexpr void pointwise(int i, const LayerTraits& l) {
    if (!plan_.stages)
      pointwise_stage(i, Boundary::output);
    else if (current().kind == Kind::softmax)
      pointwise_stage(i, Boundary::after_softmax);
    else if (goes_back_from_output() && l.needs == ops::Needs::input)
      pointwise_stage(i, Boundary::input_needed);
    else if (goes_back_from_output() && !ops::kept(needs_, l.keeps))
      pointwise_stage(i, Boundary::output_hidden);
    ops_ = true;
    monotone_ = monotone_ && l.monotone;
    needs_ = std::max(needs_, l.needs);
  }
  /// Pointwise stages and norms keep their input, and in inference nothing goes back.
  constexpr bool goes_back_from_output() {
    return mode_ == Mode::training && current().kind != Kind::pointwise && current().kind != Kind::norm;
  }
  constexpr void norm(int i, const LayerTraits& l) {
    const bool each_pixel = d_.flat && image_;
    if (mode_ == Mode::inference && plan_.stages && current().has_product() && !ops_ && !each_pixel &&
        current().folded < 0 && !(current().kind == Kind::contraction && current().contraction.pooled())) {
      current().folded = i;
    } else {
      begin(Kind::norm, i, Boundary::norm_reads);
      current().norm = {d_.h, d_.w, d_.c, cols_, 0, 0, each_pixel};
      current().has_bias = l.has_bias;
      const int pixels_h = each_pixel ? d_.h : 1, pixels_w = each_pixel ? d_.w : 1;
      current().param_h = pixels_h, current().param_w = pixels_w, current().param_in = 1,
      current().param_out = d_.c;
    }
    current().affine = l.parameters > 0;
    current().rates = l.rates;
  }
  constexpr void softmax(int i, bool logarithm) {
    begin(Kind::softmax, i, Boundary::softmax_reads);
    const int pixels = d_.h * d_.w;
    current().rows = {d_.flat ? 1 : pixels, d_.flat ? pixels : 1, d_.c, cols_, logarithm};
  }
  /// Offsets, once all is known.
  constexpr void place() {
    plan_.chunked = plan_.stages;
    // Training may end before a last softmax: what that reads is kept for the whole batch.
    if (plan_.stages > 1 && current().kind == Kind::softmax) --plan_.chunked;
    for (int i = plan_.stages - 1; i >= 0; --i)
      if (plan_.stage[std::size_t(i)].kind == Kind::dense) plan_.chunked = i;
    for (int i = 0; i < plan_.stages; ++i) {
      Stage& s = plan_.stage[std::size_t(i)];
      s.y = plan_.activations;
      plan_.activations += std::size_t(s.out_size());
      if (i + 1 < plan_.chunked) plan_.inner = plan_.activations;
      // A norm's gradient waits for that of the whole batch.
      s.inner_dy = i + 1 < plan_.chunked && s.kind != Kind::norm;
      std::size_t& gradients = s.inner_dy ? plan_.inner_gradients : plan_.outer_gradients;
      s.dy = gradients;
      gradients += std::size_t(s.out_size());
      if (s.kind == Kind::norm || s.folded >= 0) {
        s.buffers = plan_.buffers;
        plan_.buffers += 2 * std::size_t(s.kind == Kind::norm ? s.norm.features() : s.cols());
      }
      if (s.indexed) s.argmax = plan_.indices, plan_.indices += std::size_t(s.out_size());
      if (!s.has_parameters()) continue;
      s.weight = plan_.stored;
      s.bias = s.weight + std::size_t(s.weight_size());
      plan_.stored = s.bias + (s.has_bias ? std::size_t(s.bias_size()) : 0);
      if (s.folded < 0 || !s.affine) continue;
      s.norm_weight = plan_.stored;
      plan_.stored += 2 * std::size_t(s.cols());
    }
  }

  Plan<N> plan_{};
  Layout layout_;
  Mode mode_;
  Dims d_;
  bool image_;  // no linear layer yet: what is flat has the pixels of an image
  int cols_ = 0;
  bool ops_ = false;  // these of the current stage's chain: it has any
  bool monotone_ = true;
  ops::Needs needs_ = ops::Needs::nothing;
};

template <class Layers>
struct Traits;
template <class... L>
struct Traits<std::tuple<L...>> {
  static constexpr std::array<LayerTraits, sizeof...(L)> value{traits_of<L>()...};
};

}  // namespace detail

/// The plan of Net for samples of shape `in`; a misfit stands in its `fault`, if `checked`.
template <class Net>
constexpr auto make_plan(Dims in, Layout layout, bool checked = true, Mode mode = Mode::training) {
  constexpr int n = nn::layer_count<Net>;
  static_assert(n > 0, "a net has at least one layer");
  return detail::Folder<n>(in, layout, mode).fold(detail::Traits<nn::flat_layers<Net>>::value, checked);
}

/// How Backend wants things laid out.
template <class Backend>
inline constexpr Layout layout_of{Backend::channel_multiple, &Backend::fuses_pool};

/// The plan of a static net.
template <class Net, class In, class Backend>
inline constexpr auto plan = make_plan<Net>(In::dims, layout_of<Backend>);

}  // namespace kern::graph
