// A net and the shape of its input become a plan. One constexpr function computes it, for a static net in the
// compiler and for an erased one at run time. What is fused depends on the layers alone, never on the input's
// size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "../core/round.hpp"
#include "../core/simd.hpp"
#include "layer_traits.hpp"
#include "order.hpp"

namespace kern::graph {

namespace detail {

template <int N>
class Folder {
 public:
  using Layers = std::array<LayerTraits, std::size_t(N)>;
  using Wiring = std::array<nn::Reads, std::size_t(N)>;

  constexpr Folder(Dims in, Layout layout, Mode mode, const Layers& layers, const Wiring& reads)
      : layout_(layout), mode_(mode), layers_(layers), reads_(reads), d_(in), image_(!in.flat) {
    plan_.input = in;
    for (const nn::Reads& r : reads)
      for (const int i : {r.first, r.second})
        if (i != nn::Reads::none) ++readers_[std::size_t(i + 1)];
    for (const int n : readers_) branched_ = branched_ || n > 1;
  }

  constexpr Plan<N> fold(bool checked) {
    if (checked && too_large(0, size_of(d_, math::round_up(std::min(d_.c, most), layout_.channel_multiple))))
      return plan_;
    cols_ = reads_unpadded() ? d_.c : math::round_up(d_.c, layout_.channel_multiple);
    plan_.input_cols = cols_;
    share(nn::Reads::input);
    for (int i = 0; i < N; ++i) {
      const LayerTraits& l = layers_[std::size_t(i)];
      const nn::Reads& from = reads_[std::size_t(i)];
      if (branched_) take_value(from.first);
      const nn::Rule r = is_join(l) ? l.joins(d_, values_[std::size_t(from.second + 1)].d) : l.rule(d_);
      if (checked && r.fault.kind != Mismatch::none) {
        plan_.fault = r.fault;
        plan_.fault.layer = i;
        return plan_;
      }
      if (checked && l.lowers_to == nn::Lowering::lookup && i > 0) {
        plan_.fault = {Mismatch::embedding_not_first, i, 0, i};
        return plan_;
      }
      if (checked && too_large(i, stored_size(l, r))) return plan_;
      add(i, l, r);
      plan_.parameters += l.parameters;
      plan_.dims[std::size_t(i)] = d_ = r.out;
      if (open_) current().last = i + 1, current().flat = r.out.flat;
      share(i);
    }
    if (!plan_.stages) pointwise_stage(N - 1, Boundary::output), current().flat = d_.flat;
    if (branched_) dense_last(plan_);
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
    const int cols = math::round_up(std::min(r.out.c, most), layout_.channel_multiple);
    double largest = std::max(size_of(d_, cols_, r.padding), size_of(r.out, cols));
    if (l.lowers_to == nn::Lowering::contraction)
      largest = std::max(largest, double(r.kernel.h) * r.kernel.w * cols_ * cols);
    if (l.lowers_to == nn::Lowering::grouped)
      largest = std::max(largest, double(r.kernel.h) * r.kernel.w * (d_.c / r.groups) * cols);
    if (l.lowers_to == nn::Lowering::lookup) largest = std::max(largest, double(r.rows) * cols);
    if (l.lowers_to == nn::Lowering::dense) largest = std::max(largest, size_of(d_, cols_) * cols);
    return largest;
  }
  constexpr bool too_large(int layer, double elements) {
    if (elements <= most) return false;
    constexpr double million = 1e6;
    plan_.fault = {Mismatch::too_large, layer, int(most / million), int(std::min(elements / million, 2e9))};
    return true;
  }
  // Not by its function: where behaviour is checked, whether that is null is no constant for g++.
  static constexpr bool is_join(const LayerTraits& l) { return l.lowers_to == nn::Lowering::join; }
  constexpr Stage& current() { return plan_.stage[std::size_t(plan_.stages - 1)]; }

  /// It is one convolution, linear layer or embedding that reads the input.
  constexpr bool reads_unpadded() const {
    for (int i = 0; i < N && readers_[std::size_t(i)] == 1; ++i) {
      const nn::Lowering l = layers_[std::size_t(i)].lowers_to;
      if (l != nn::Lowering::view)
        return l == nn::Lowering::contraction || l == nn::Lowering::dense || l == nn::Lowering::lookup;
    }
    return false;
  }

  // Branches. A value is a layer's output, or the net's input.
  struct Value {
    Dims d{};
    int cols = 0, stage = nn::Reads::input;
    bool image = false, open = false, shared = false;
  };
  /// The one at hand; it becomes that of a layer.
  constexpr Value value() const { return {d_, cols_, stage_, image_, open_, shared_}; }
  constexpr void take_value(int layer) {
    const Value& v = values_[std::size_t(layer + 1)];
    d_ = v.d, cols_ = v.cols, stage_ = v.stage, image_ = v.image, open_ = v.open, shared_ = v.shared;
  }
  /// The value at hand is that of a layer. What more than one reads is kept as it is: nothing joins its
  /// stage.
  constexpr void share(int layer) {
    if (!branched_) return;
    if (!shared_ && readers_[std::size_t(layer + 1)] > 1) {
      set_border(common_padding(layer));
      shared_ = true, open_ = false;
    }
    values_[std::size_t(layer + 1)] = value();
  }
  /// Of those that read a value, if all want the same; else 0. A join takes any.
  constexpr Size2 common_padding(int layer) const {
    std::array<bool, std::size_t(N + 1)> same{};
    same[std::size_t(layer + 1)] = true;
    bool any = false;
    Size2 all{0, 0};
    for (int i = layer + 1; i < N; ++i) {
      const LayerTraits& l = layers_[std::size_t(i)];
      if (is_join(l) || !same[std::size_t(reads_[std::size_t(i)].first + 1)]) continue;
      if (l.lowers_to == nn::Lowering::view) {
        same[std::size_t(i + 1)] = true;
        continue;
      }
      const bool convolves = l.lowers_to == nn::Lowering::contraction || l.lowers_to == nn::Lowering::grouped;
      const Size2 wants = convolves ? l.rule(d_).padding : Size2{0, 0};
      if (any && wants != all) return {0, 0};
      any = true, all = wants;
    }
    return all;
  }
  /// Its stage ends there.
  constexpr void ends(const Value& v, Boundary why) {
    if (v.stage >= 0) plan_.stage[std::size_t(v.stage)].boundary = v.shared ? Boundary::shared : why;
  }
  /// In inference the convolution that gives v, the last stage so far, can add another output to its own.
  constexpr bool can_add(const Value& v, const Value& other) const {
    if (mode_ != Mode::inference || !v.open || v.stage != plan_.stages - 1 || other.stage < 0 || v.d.flat)
      return false;
    const Stage& s = plan_.stage[std::size_t(v.stage)];
    return s.convolves() && s.reads.second == nn::Reads::none && !s.indexed;
  }
  constexpr void add_in_registers(int layer, const Value& other) {
    take_value(layer);
    ends(other, Boundary::joined);
    current().reads.second = other.stage;
    ops_ = true, monotone_ = false;
  }
  constexpr void join(int i, const LayerTraits& l, const nn::Rule& r) {
    const nn::Reads& from = reads_[std::size_t(i)];
    const Value a = value();
    const Value& b = values_[std::size_t(from.second + 1)];
    if (l.joining == join_sum) {
      if (can_add(b, a)) return add_in_registers(from.second, a);
      if (can_add(a, b)) return add_in_registers(from.first, b);
    }
    begin(Kind::join, i, Boundary::joined);
    ends(b, Boundary::joined);
    current().reads.second = b.stage;
    cols_ = math::round_up(r.out.c, layout_.channel_multiple);
    image_ = image_ || b.image;
    current().pointwise = {r.out.h, r.out.w, r.out.c, cols_, 0, 0};
    current().joining = l.joining;
  }

  constexpr void add(int i, const LayerTraits& l, const nn::Rule& r) {
    switch (l.lowers_to) {
      case nn::Lowering::contraction:
        return contraction(i, l, r);
      case nn::Lowering::grouped:
        return grouped(i, l, r);
      case nn::Lowering::lookup:
        return lookup(i, r);
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
      case nn::Lowering::join:
        return join(i, l, r);
      case nn::Lowering::row_norm:
        return row_norm(i, l);
      case nn::Lowering::view:
        return;
    }
  }
  constexpr void begin(Kind kind, int layer, Boundary why) {
    ends(value(), why);
    Stage& s = plan_.stage[std::size_t(plan_.stages)];
    s.kind = kind;
    s.reads.first = stage_;
    stage_ = plan_.stages++;
    open_ = true, shared_ = false;
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
    const int cols = math::round_up(r.out.c, layout_.channel_multiple);
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
  constexpr void grouped(int i, const LayerTraits& l, const nn::Rule& r) {
    border(i, r.padding);
    begin(Kind::grouped, i, Boundary::grouped_reads);
    const int cols = math::round_up(r.out.c, layout_.channel_multiple);
    current().grouped = {d_.h + 2 * r.padding.h,
                         d_.w + 2 * r.padding.w,
                         cols_,
                         r.kernel.h,
                         r.kernel.w,
                         d_.c,
                         r.out.c,
                         cols,
                         r.groups,
                         r.stride.h,
                         r.stride.w,
                         r.dilation.h,
                         r.dilation.w,
                         0,
                         0};
    parameters(l, r.kernel.h, r.kernel.w, d_.c / r.groups, r.out.c);
    current().stored_in = d_.c / r.groups;
    cols_ = cols;
  }
  /// What stands before a convolution keeps a border of zeros for its padding.
  constexpr void border(int i, Size2 padding) {
    if (shared_) {
      const StoredImage s = plan_.image(stage_);
      if (padding == Size2{s.border_h, s.border_w}) return;
    } else if (padding == Size2{0, 0}) {
      return;
    }
    // A softmax writes no border, and what is shared has that of others: a copy has it.
    if (shared_ || (stage_ >= 0 && current().kind == Kind::softmax)) {
      pointwise_stage(i, Boundary::after_softmax);
      current().last = i;
    }
    set_border(padding);
  }
  /// Of the value at hand; a softmax has none.
  constexpr void set_border(Size2 padding) {
    if (stage_ < 0) {
      plan_.input_border_h = padding.h, plan_.input_border_w = padding.w;
      return;
    }
    Stage& s = plan_.stage[std::size_t(stage_)];
    if (s.kind == Kind::contraction)
      s.contraction.border_h = padding.h, s.contraction.border_w = padding.w;
    else if (s.kind == Kind::grouped)
      s.grouped.border_h = padding.h, s.grouped.border_w = padding.w;
    else if (s.kind == Kind::lookup)
      s.lookup.border_h = padding.h, s.lookup.border_w = padding.w;
    else if (s.kind == Kind::window)
      s.window.border_h = padding.h, s.window.border_w = padding.w;
    else if (s.kind == Kind::norm)
      s.norm.border_h = padding.h, s.norm.border_w = padding.w;
    else if (s.kind == Kind::row_norm)
      s.row_norm.border_h = padding.h, s.row_norm.border_w = padding.w;
    else if (s.kind != Kind::softmax)
      s.pointwise.border_h = padding.h, s.pointwise.border_w = padding.w;
  }
  constexpr void lookup(int i, const nn::Rule& r) {
    begin(Kind::lookup, i, Boundary::output);
    cols_ = math::round_up(r.out.c, layout_.channel_multiple);
    current().lookup = {d_.size(), r.rows, r.out.c, cols_, 0, 0, r.padding_row};
    current().param_in = r.out.c, current().param_out = r.rows;
  }
  constexpr void dense(int i, const LayerTraits& l, const nn::Rule& r) {
    begin(Kind::dense, i, Boundary::dense_reads);
    image_ = false;
    const int cols = math::round_up(r.out.c, layout_.channel_multiple);
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
    if (open_) {
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
    if (!open_)
      pointwise_stage(i, Boundary::shared);
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
    if (mode_ == Mode::inference && open_ && current().has_product() && !ops_ && !each_pixel &&
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
  constexpr void row_norm(int i, const LayerTraits& l) {
    begin(Kind::row_norm, i, Boundary::row_norm_reads);
    Stage& s = current();
    s.has_bias = l.has_bias, s.affine = l.parameters > 0;
    s.row_norm = RowNorm::of({d_.h, d_.w, d_.c, cols_, 0, 0}, 1, s.affine, l.rates.eps);
    s.param_h = d_.h, s.param_w = d_.w, s.param_in = 1, s.param_out = d_.c;
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
    find_inner(plan_, mode_);
    for (int i = 0; i < plan_.stages; ++i) {
      Stage& s = plan_.stage[std::size_t(i)];
      std::size_t& outputs = s.inner_y ? plan_.inner : plan_.activations;
      s.y = outputs;
      outputs += std::size_t(s.out_size());
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
  const Layers& layers_;
  const Wiring& reads_;
  std::array<int, std::size_t(N + 1)> readers_{};  // of each value, the input's first
  std::array<Value, std::size_t(N + 1)> values_{};
  bool branched_ = false;
  // The value at hand: what the next layer reads.
  Dims d_;
  int stage_ = nn::Reads::input;  // whose output it is
  bool open_ = false;             // the next layer may join that stage, which is the last so far
  bool shared_ = false;           // more than one layer reads it
  bool image_;                    // no linear layer yet: what is flat has the pixels of an image
  int cols_ = 0;
  bool ops_ = false;  // these of the current stage's chain: it has any
  bool monotone_ = true;
  ops::Needs needs_ = ops::Needs::nothing;
};

}  // namespace detail

/// The plan of Net for samples of shape `in`; a misfit stands in its `fault`, if `checked`.
template <class Net>
constexpr auto make_plan(Dims in, Layout layout, bool checked = true, Mode mode = Mode::training) {
  constexpr int n = nn::layer_count<Net>;
  static_assert(n > 0, "a net has at least one layer");
  return detail::Folder<n>(in, layout, mode, detail::Traits<nn::flat_layers<Net>>::value,
                           nn::layer_reads<Net>)
      .fold(checked);
}

/// How Backend wants things laid out.
template <class Backend>
inline constexpr Layout layout_of{Backend::channel_multiple, &Backend::fuses_pool};
/// Whether a stage with such numbers reads a batch's samples where they lie.
template <class Backend, class Numbers>
inline constexpr bool backend_reads_samples = [] {
  if constexpr (requires { Backend::template reads_samples<Numbers>; })
    return Backend::template reads_samples<Numbers>;
  else
    return false;
}();

/// The plan of a static net.
template <class Net, class In, class Backend>
inline constexpr auto plan = make_plan<Net>(In::dims, layout_of<Backend>);

}  // namespace kern::graph
