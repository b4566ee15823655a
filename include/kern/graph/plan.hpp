// A net and the shape of its input become a plan: shapes, stages, what is fused, where everything lies. One
// constexpr function computes it, for a static net in the compiler and for an erased one at run time. What is
// fused depends on the layers alone, never on the input's size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "../core/simd.hpp"
#include "../core/stage.hpp"
#include "../nn/sequential.hpp"
#include "../ops/chain.hpp"

namespace kern {

/// The shape of one sample: Input<C, H, W> or Input<Features>. dyn where only the run time knows (erased
/// nets).
template <int... E>
struct Input {
  static_assert(sizeof...(E) == 1 || sizeof...(E) == 3, "Input is <channels, height, width> or <features>");
  static_assert(((E > 0 || E == dyn) && ...), "an extent of the input is at least 1, or dyn");
  static constexpr int rank = int(sizeof...(E));
  static constexpr bool is_static = ((E != dyn) && ...);
  /// The images of a batch, the labels' type beside: TensorView<const T, Input<1, 28, 28>::Batch>.
  using Sample = Shape<E...>;
  using Batch = Shape<dyn, E...>;
  static constexpr Dims dims = [] {
    constexpr int e[] = {E...};
    if constexpr (rank == 3)
      return Dims{e[0], e[1], e[2], false};
    else
      return Dims{e[0], 1, 1, true};
  }();
  /// Some sizes of the right rank, for what does not depend on them: small, so that no product of them
  /// overflows.
  static constexpr Dims any_dims{1, rank == 3 ? 64 : 1, rank == 3 ? 64 : 1, rank == 1};
};

namespace graph {

enum class Kind { contraction, dense, window, pointwise, norm, softmax };

/// Why a stage's output goes through memory instead of into the next stage's registers.
enum class Boundary {
  output,             // it is the net's output
  contraction_reads,  // the next sums over a neighbourhood and all channels
  dense_reads,        // the next sums over all of the sample
  windows_overlap,    // the next is a pooling whose windows overlap, leave gaps or hang over the edge
  window_too_large,   // the next is a pooling whose window does not fit in the registers of a tile
  not_monotone,       // the next is a pooling behind an op that does not keep order
  pooled_twice,       // the next is a second pooling
  softmax_reads,      // the next sums over a row
  norm_reads,         // the next needs mean and variance over the batch
  mean_reads,         // the next is a pooling that averages
  after_softmax,      // the next comes behind a softmax
  input_needed,       // the next op needs its input for its derivative
  output_hidden,      // the next op would hide an output that an op before it needs for its derivative
};

/// What runs at once: the layers [first, last), its own work that of layer `anchor`.
struct Stage {
  Kind kind = Kind::contraction;
  int anchor = 0, first = 0, last = 0;
  Boundary boundary = Boundary::output;
  bool flat = false;  // its output is flat
  bool has_bias = false;
  Contraction contraction{};  // by kind, one of these
  Dense dense{};
  Window window{};
  Pointwise pointwise{};
  Norm norm{};
  SoftmaxRows rows{};
  nn::NormRates rates{};  // of a norm
  int folded = -1;        // in inference: the layer number of the norm that its weights include
  int param_h = 1, param_w = 1, param_in = 0,
      param_out = 0;                 // the weight: height, width, channels in and out
  int stored_in = 0;                 // channels in as stored
  std::size_t weight = 0, bias = 0;  // where they lie among the parameters
  std::size_t norm_weight = 0;       // of a folded norm: its weight, its bias behind
  std::size_t buffers =
      0;                // of a norm, folded or not: its running mean among all buffers, its variance behind
  bool affine = false;  // that norm has a weight and a bias
  std::size_t y = 0, argmax = 0;  // where its output lies in a sample's activations
  std::size_t dy = 0;             // where the gradient of that lies: among the inner ones, or the outer ones
  bool inner_dy = false;
  bool indexed = false;  // it has an argmax

  constexpr int in_size() const {
    return kind == Kind::contraction ? contraction.in_size()
           : kind == Kind::dense     ? dense.in_size()
           : kind == Kind::window    ? window.in_size()
           : kind == Kind::pointwise ? pointwise.in_size()
           : kind == Kind::norm      ? norm.in_size()
                                     : rows.in_size();
  }
  constexpr int out_size() const {
    return kind == Kind::contraction ? contraction.out_size()
           : kind == Kind::dense     ? dense.out_size()
           : kind == Kind::window    ? window.out_size()
           : kind == Kind::pointwise ? pointwise.out_size()
           : kind == Kind::norm      ? norm.out_size()
                                     : rows.out_size();
  }
  /// Channels of the output as stored.
  constexpr int cols() const {
    return kind == Kind::contraction ? contraction.cols
           : kind == Kind::dense     ? dense.cols
           : kind == Kind::window    ? window.cols
           : kind == Kind::pointwise ? pointwise.cols
           : kind == Kind::norm      ? norm.cols
                                     : rows.cols;
  }
  /// Channel k of a sample's output at (y, x) stands at origin + y * pitch + x * cols() + k.
  struct Image {
    int channels, h, w, origin, pitch;
  };
  constexpr Image image() const {
    const auto of = [](const auto& d, int channels) {
      return Image{channels, d.out_h(), d.out_w(), d.out_origin(), d.out_pitch()};
    };
    switch (kind) {
      case Kind::contraction:
        return of(contraction, contraction.co);
      case Kind::window:
        return of(window, window.c);
      case Kind::pointwise:
        return of(pointwise, pointwise.c);
      case Kind::norm:
        return of(norm, norm.c);
      case Kind::dense:
        return {dense.co, 1, 1, 0, 0};
      case Kind::softmax:
        return {rows.c, 1, rows.rows * rows.pixels, 0, 0};
    }
    return {};
  }
  /// It multiplies by a weight that a backend prepares; it has parameters of any kind.
  constexpr bool has_product() const { return kind == Kind::contraction || kind == Kind::dense; }
  constexpr bool has_parameters() const { return has_product() || (kind == Kind::norm && affine); }
  constexpr int weight_size() const {
    return kind == Kind::contraction ? contraction.weight_size()
           : kind == Kind::dense     ? dense.weight_size()
           : kind == Kind::norm      ? norm.features()
                                     : 0;
  }
  constexpr int bias_size() const { return kind == Kind::norm ? norm.features() : cols(); }
  /// Multiply-adds of the plain definition, forward, a sample; channels without their padding.
  constexpr long multiply_adds() const {
    const long outputs = kind == Kind::contraction ? long(contraction.conv_h()) * contraction.conv_w() : 1;
    return has_product() ? outputs * param_h * param_w * param_in * param_out : 0;
  }
};

/// What a plan is for. In inference nothing goes back: norms are folded into the product before them, and no
/// op needs anything for its derivative. Both have the same parameters in the same places.
enum class Mode { training, inference };

/// How a backend wants to have things.
struct Layout {
  int channel_multiple = 1;                    // channels are stored padded to this
  bool (*fuses_pool)(int h, int w) = nullptr;  // a pooling of h x w windows can join a contraction
};

template <int N>
struct Plan {
  std::array<Stage, std::size_t(2 * N)> stage{};  // a convolution may bring a copy before it
  int stages = 0;
  std::array<Dims, std::size_t(N)> dims{};  // after each layer
  Dims input{};
  int input_cols = 0;  // channels of the input as stored
  int input_border_h = 0, input_border_w = 0;
  int chunked = 0;  // stages before the first dense one, or a last softmax: few samples can run through
  std::size_t buffers = 0;     // elements that norms keep beside the parameters
  std::size_t parameters = 0;  // as PyTorch counts them
  std::size_t stored = 0;      // elements, with padding
  std::size_t inner = 0;       // elements a sample of outputs that only the same few samples read
  std::size_t inner_gradients = 0, outer_gradients = 0;  // of gradients, likewise, and of all others
  std::size_t activations = 0, indices = 0;              // elements a sample, all stages
  Fault fault{};

  /// How a sample of the input is stored.
  constexpr Entry entry() const {
    return {input.c, input.h, input.w, input_cols, input_border_h, input_border_w};
  }
  constexpr int input_size() const { return entry().stored_size(); }
  constexpr Dims output() const { return dims[std::size_t(N - 1)]; }
  /// Stages that run in training: a log-softmax over all outputs at the end is part of a loss that skips it.
  /// (One over the channels at each place of an image is not.)
  constexpr int trained(bool loss_skips_log_softmax) const {
    if (stages < 2 || !loss_skips_log_softmax) return stages;
    const Stage& last = stage[std::size_t(stages - 1)];
    return stages - (last.kind == Kind::softmax && last.rows.log && dims[std::size_t(last.anchor)].flat);
  }
};

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

}  // namespace graph
}  // namespace kern
