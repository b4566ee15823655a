// A plan: a net's shapes, stages, what is fused, where everything lies. graph/fold.hpp makes it.
#pragma once
#include <array>
#include <cstddef>
#include <string>

#include "../core/error.hpp"
#include "../core/stage.hpp"
#include "../nn/sequential.hpp"

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

enum class Kind { contraction, grouped, lookup, dense, window, pointwise, norm, row_norm, softmax, join };

/// Why a stage's output goes through memory instead of into the next stage's registers.
enum class Boundary {
  output,             // it is the net's output
  contraction_reads,  // the next sums over a neighbourhood and all channels
  grouped_reads,      // the next sums over a neighbourhood
  dense_reads,        // the next sums over all of the sample
  windows_overlap,    // the next is a pooling whose windows overlap, leave gaps or hang over the edge
  window_too_large,   // the next is a pooling whose window does not fit in the registers of a tile
  not_monotone,       // the next is a pooling behind an op that does not keep order
  pooled_twice,       // the next is a second pooling
  softmax_reads,      // the next sums over a row
  norm_reads,         // the next needs mean and variance over the batch
  row_norm_reads,     // the next needs mean and variance over the sample
  mean_reads,         // the next is a pooling that averages
  after_softmax,      // the next comes behind a softmax
  input_needed,       // the next op needs its input for its derivative
  output_hidden,      // the next op would hide an output that an op before it needs for its derivative
  shared,             // more than one layer reads it
  joined,             // the next adds it to, or puts it behind, the output of another branch
};

/// What runs at once: the layers [first, last), its own work that of layer `anchor`.
struct Stage {
  Kind kind = Kind::contraction;
  int anchor = 0, first = 0, last = 0;
  nn::Reads reads{};  // the stages whose outputs it reads
  Boundary boundary = Boundary::output;
  bool flat = false;  // its output is flat
  bool has_bias = false;
  Contraction contraction{};  // by kind, one of these
  GroupedContraction grouped{};
  Lookup lookup{};
  Dense dense{};
  Window window{};
  Pointwise pointwise{};  // of a join its output: see Plan::join()
  Joining joining = join_sum;
  Norm norm{};
  RowNorm row_norm{};
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
  bool affine = false;  // that norm, or a layer normalisation, has a weight
  std::size_t y = 0, argmax = 0;  // where its output lies in a sample's activations
  bool inner_y = false;           // in inference, among the inner ones
  std::size_t dy = 0;             // where the gradient of that lies: among the inner ones, or the outer ones
  bool inner_dy = false;
  bool indexed = false;  // it has an argmax

  constexpr int out_size() const {
    return kind == Kind::contraction ? contraction.out_size()
           : kind == Kind::grouped   ? grouped.out_size()
           : kind == Kind::lookup    ? lookup.out_size()
           : kind == Kind::dense     ? dense.out_size()
           : kind == Kind::window    ? window.out_size()
           : kind == Kind::pointwise ? pointwise.out_size()
           : kind == Kind::norm      ? norm.out_size()
           : kind == Kind::row_norm  ? row_norm.out_size()
           : kind == Kind::softmax   ? rows.out_size()
                                     : pointwise.out_size();
  }
  /// Channels of the output as stored.
  constexpr int cols() const {
    return kind == Kind::contraction ? contraction.cols
           : kind == Kind::grouped   ? grouped.cols
           : kind == Kind::lookup    ? lookup.cols
           : kind == Kind::dense     ? dense.cols
           : kind == Kind::window    ? window.cols
           : kind == Kind::pointwise ? pointwise.cols
           : kind == Kind::norm      ? norm.cols
           : kind == Kind::row_norm  ? row_norm.cols
           : kind == Kind::softmax   ? rows.cols
                                     : pointwise.cols;
  }
  constexpr StoredImage image() const {
    const auto of = [](const auto& d, int channels) {
      return StoredImage{channels, d.out_h(), d.out_w(), d.cols, d.border_h, d.border_w};
    };
    switch (kind) {
      case Kind::contraction:
        return of(contraction, contraction.co);
      case Kind::grouped:
        return of(grouped, grouped.co);
      case Kind::lookup:
        return of(lookup, lookup.c);
      case Kind::window:
        return of(window, window.c);
      case Kind::pointwise:
      case Kind::join:
        return of(pointwise, pointwise.c);
      case Kind::norm:
        return of(norm, norm.c);
      case Kind::row_norm:
        return of(row_norm, row_norm.c);
      case Kind::dense:
        return {dense.co, 1, 1, dense.cols, 0, 0};
      case Kind::softmax:
        return {rows.c, 1, rows.rows * rows.pixels, rows.cols, 0, 0};
    }
    return {};
  }
  /// It has no layer: it stands before one that wants its input with another border.
  constexpr bool is_copy() const { return first == last; }
  /// It multiplies by a weight that a backend prepares; it has parameters of any kind.
  constexpr bool has_product() const { return convolves() || kind == Kind::dense; }
  constexpr bool convolves() const { return kind == Kind::contraction || kind == Kind::grouped; }
  constexpr bool has_parameters() const {
    return has_product() || kind == Kind::lookup || (normalises() && affine);
  }
  constexpr bool normalises() const { return kind == Kind::norm || kind == Kind::row_norm; }
  /// The gradient of its parameters is summed in parts of the batch, which gather() adds.
  constexpr bool gradient_in_parts() const { return convolves() || (kind == Kind::row_norm && affine); }
  constexpr int weight_size() const {
    return kind == Kind::contraction ? contraction.weight_size()
           : kind == Kind::grouped   ? grouped.weight_size()
           : kind == Kind::lookup    ? lookup.weight_size()
           : kind == Kind::dense     ? dense.weight_size()
           : kind == Kind::norm      ? norm.features()
           : kind == Kind::row_norm  ? row_norm.weight_size()
                                     : 0;
  }
  constexpr int bias_size() const { return normalises() ? weight_size() : cols(); }
  /// Multiply-adds of the plain definition, forward, a sample; channels without their padding.
  constexpr long multiply_adds() const {
    const long outputs = kind == Kind::contraction ? long(contraction.conv_h()) * contraction.conv_w()
                         : kind == Kind::grouped   ? long(grouped.out_h()) * grouped.out_w()
                                                   : 1;
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
  bool late_input = false;     // a later one reads the net's input, too
  std::size_t inner = 0;  // elements a sample of outputs that only the same few samples read: in inference
  std::size_t activations = 0, indices = 0;              // of all others
  std::size_t inner_gradients = 0, outer_gradients = 0;  // of gradients, likewise
  ShapeFault fault{};

  /// How a sample of the input is stored.
  constexpr Entry entry() const {
    return {input.c, input.h, input.w, input_cols, input_border_h, input_border_w};
  }
  constexpr int input_size() const { return entry().stored_size(); }

  /// The stage that gives input number `which` of stage i, or one of nn::Reads' numbers.
  constexpr int source(int i, int which) const {
    const nn::Reads& r = stage[std::size_t(i)].reads;
    return which == 0 ? r.first : r.second;
  }
  constexpr bool reads_input(int i) const {
    return source(i, 0) == nn::Reads::input || source(i, 1) == nn::Reads::input;
  }
  /// No later stage reads that, nor this one as a later input: on the way back it is the first to know of it.
  constexpr bool reads_last(int i, int which) const {
    for (int j = i; j < stages; ++j)
      for (int k = j == i ? which + 1 : 0; k < 2; ++k)
        if (source(j, k) == source(i, which)) return false;
    return true;
  }
  /// How that is stored: a stage's output, or the net's input.
  constexpr StoredImage image(int from) const {
    if (from >= 0) return stage[std::size_t(from)].image();
    return {input.c, input.h, input.w, input_cols, input_border_h, input_border_w};
  }
  /// Elements a sample that stage i reads, as they are stored.
  constexpr int in_size(int i) const {
    const nn::Reads& r = stage[std::size_t(i)].reads;
    return image(r.first).size() + (r.second == nn::Reads::none ? 0 : image(r.second).size());
  }
  /// Stage i, which is a join.
  constexpr Join join(int i) const {
    const Stage& s = stage[std::size_t(i)];
    const Pointwise& y = s.pointwise;
    return {y.h,
            y.w,
            y.c,
            y.cols,
            y.border_h,
            y.border_w,
            s.joining,
            image(s.reads.first),
            image(s.reads.second)};
  }
  constexpr Dims output() const { return dims[std::size_t(N - 1)]; }
  /// Stages that run in training: a log-softmax over all outputs at the end is part of a loss that skips it.
  /// (One over the channels at each place of an image is not.)
  constexpr int trained(bool loss_skips_log_softmax) const {
    if (stages < 2 || !loss_skips_log_softmax) return stages;
    const Stage& last = stage[std::size_t(stages - 1)];
    return stages - (last.kind == Kind::softmax && last.rows.log && dims[std::size_t(last.anchor)].flat);
  }
};

/// Throws ShapeError where a net does not fit its input: with the layer, and of branches both shapes.
template <class P, class Paths, class Wiring>
[[gnu::cold]] void require_fit(const P& plan, const Paths& paths, const Wiring& reads) {
  const ShapeFault& f = plan.fault;
  if (f.kind == Mismatch::none) return;
  const auto at = std::size_t(f.layer);
  const auto shape_of = [&](int layer) {
    const Dims d = layer < 0 ? plan.input : plan.dims[std::size_t(layer)];
    return d.flat ? shape_string(std::array{d.size()}) : shape_string(std::array{d.c, d.h, d.w});
  };
  std::string shapes;
  if (reads[at].second != nn::Reads::none)
    shapes = text("; shapes ", shape_of(reads[at].first), " and ", shape_of(reads[at].second));
  throw ShapeError(text("layer ", f.layer, " (", paths[at].text, "): ", kern::detail::fault_text(f), shapes));
}

}  // namespace graph
}  // namespace kern
