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

enum class Kind { contraction, dense, window, pointwise, softmax };

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
  SoftmaxRows rows{};
  int param_h = 1, param_w = 1, param_in = 0,
      param_out = 0;                 // the weight: height, width, channels in and out
  int stored_in = 0;                 // channels in as stored
  std::size_t weight = 0, bias = 0;  // where they lie among the parameters
  std::size_t y = 0, argmax = 0;     // where its output lies in a sample's activations
  bool indexed = false;              // it has an argmax

  constexpr int in_size() const {
    return kind == Kind::contraction ? contraction.in_size()
           : kind == Kind::dense     ? dense.in_size()
           : kind == Kind::window    ? window.in_size()
           : kind == Kind::pointwise ? pointwise.in_size()
                                     : rows.in_size();
  }
  constexpr int out_size() const {
    return kind == Kind::contraction ? contraction.out_size()
           : kind == Kind::dense     ? dense.out_size()
           : kind == Kind::window    ? window.out_size()
           : kind == Kind::pointwise ? pointwise.out_size()
                                     : rows.out_size();
  }
  /// Channels of the output as stored.
  constexpr int cols() const {
    return kind == Kind::contraction ? contraction.cols
           : kind == Kind::dense     ? dense.cols
           : kind == Kind::window    ? window.cols
           : kind == Kind::pointwise ? pointwise.cols
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
      case Kind::dense:
        return {dense.co, 1, 1, 0, 0};
      case Kind::softmax:
        return {rows.c, 1, rows.rows * rows.pixels, 0, 0};
    }
    return {};
  }
  constexpr bool has_parameters() const { return kind == Kind::contraction || kind == Kind::dense; }
  constexpr int weight_size() const {
    return kind == Kind::contraction ? contraction.weight_size()
           : kind == Kind::dense     ? dense.weight_size()
                                     : 0;
  }
  /// Multiply-adds of the plain definition, forward, a sample; channels without their padding.
  constexpr long multiply_adds() const {
    const long outputs = kind == Kind::contraction ? long(contraction.conv_h()) * contraction.conv_w() : 1;
    return has_parameters() ? outputs * param_h * param_w * param_in * param_out : 0;
  }
};

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
  std::size_t parameters = 0;  // as PyTorch counts them
  std::size_t stored = 0;      // elements, with padding
  std::size_t inner = 0;       // elements a sample of outputs that only the same few samples read
  std::size_t activations = 0, indices = 0;  // elements a sample, all stages
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
  return t;
}

namespace detail {

template <int N>
class Folder {
 public:
  constexpr Folder(Dims in, Layout layout) : layout_(layout), d_(in) { plan_.input = in; }

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
    else
      s.pointwise.border_h = padding.h, s.pointwise.border_w = padding.w;
  }
  constexpr void dense(int i, const LayerTraits& l, const nn::Rule& r) {
    begin(Kind::dense, i, Boundary::dense_reads);
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
    else if (current().kind != Kind::pointwise && l.needs == ops::Needs::input)  // that one keeps its input
      pointwise_stage(i, Boundary::input_needed);
    else if (current().kind != Kind::pointwise && !ops::kept(needs_, l.keeps))
      pointwise_stage(i, Boundary::output_hidden);
    monotone_ = monotone_ && l.monotone;
    needs_ = std::max(needs_, l.needs);
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
      if (s.indexed) s.argmax = plan_.indices, plan_.indices += std::size_t(s.out_size());
      if (!s.has_parameters()) continue;
      s.weight = plan_.stored;
      s.bias = s.weight + std::size_t(s.weight_size());
      plan_.stored = s.bias + (s.has_bias ? std::size_t(s.cols()) : 0);
    }
  }

  Plan<N> plan_{};
  Layout layout_;
  Dims d_;
  int cols_ = 0;
  bool monotone_ = true;  // these of the current stage's chain
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
constexpr auto make_plan(Dims in, Layout layout, bool checked = true) {
  constexpr int n = nn::layer_count<Net>;
  static_assert(n > 0, "a net has at least one layer");
  return detail::Folder<n>(in, layout).fold(detail::Traits<nn::flat_layers<Net>>::value, checked);
}

/// How Backend wants things laid out.
template <class Backend>
inline constexpr Layout layout_of{Backend::channel_multiple, &Backend::fuses_pool};

/// The plan of a static net.
template <class Net, class In, class Backend>
inline constexpr auto plan = make_plan<Net>(In::dims, layout_of<Backend>);

}  // namespace graph
}  // namespace kern
