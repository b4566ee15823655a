// explain: what is fused, what it moves, and why the rest is not.
#pragma once
#include "facts.hpp"
#include "launches.hpp"
#include "text.hpp"

namespace kern {

namespace graph {

/// Why a stage ends where it does.
constexpr const char* boundary_text(Boundary b) {
  switch (b) {
    case Boundary::output:
      return "it is the output";
    case Boundary::contraction_reads:
      return "the next layer sums over a neighbourhood and all channels";
    case Boundary::grouped_reads:
      return "the next layer sums over a neighbourhood";
    case Boundary::dense_reads:
      return "the next layer sums over the whole sample";
    case Boundary::windows_overlap:
      return "the next pooling's windows overlap, leave gaps or hang over the edge";
    case Boundary::window_too_large:
      return "the next pooling's window does not fit in the registers of a tile";
    case Boundary::not_monotone:
      return "an op before the next pooling does not keep order (dropout of single elements)";
    case Boundary::pooled_twice:
      return "the next layer is a second pooling, or one without a convolution to join (one of groups, or "
             "dilated, "
             "takes none)";
    case Boundary::mean_reads:
      return "the next layer averages over windows";
    case Boundary::norm_reads:
      return "the next layer needs mean and variance over the whole batch";
    case Boundary::row_norm_reads:
      return "the next layer needs mean and variance over the sample";
    case Boundary::softmax_reads:
      return "the softmax sums over a row; a logarithm at the net's end is part of the loss in training";
    case Boundary::after_softmax:
      return "the softmax writes whole rows before the next layer can read";
    case Boundary::input_needed:
      return "the next op needs its input for its derivative";
    case Boundary::output_hidden:
      return "the next op hides the output that an op before it needs for its derivative";
    case Boundary::shared:
      return "more than one layer reads it";
    case Boundary::joined:
      return "the next layer joins it with another branch";
  }
  return "";
}

constexpr const char* kind_text(const Stage& s) {
  switch (s.kind) {
    case Kind::contraction:
      return s.contraction.pooled() ? "convolution and pooling" : "convolution";
    case Kind::grouped:
      return s.grouped.depthwise()  ? "depthwise convolution"
             : s.grouped.groups > 1 ? "grouped convolution"
                                    : "dilated convolution";
    case Kind::lookup:
      return "embedding";
    case Kind::dense:
      return "matrix product";
    case Kind::window:
      return s.window.pooling == pool_max ? "pooling" : "mean pooling";
    case Kind::pointwise:
      return "pointwise";
    case Kind::norm:
      return "normalisation";
    case Kind::row_norm:
      return "layer normalisation";
    case Kind::softmax:
      return s.rows.log ? "log-softmax" : "softmax";
    case Kind::join:
      return s.joining == join_sum ? "sum" : "concatenation";
  }
  return "";
}

/// Why that is a copy.
template <class P>
constexpr const char* copy_text(const P& p, const Stage& copy) {
  const int from = copy.reads.first;
  if (from >= 0 && p.stage[std::size_t(from)].kind == Kind::softmax)
    return "the layer's padding is a border of zeros around its input, and a softmax writes none";
  return "the layer's padding is a border of zeros around its input, and the layers that read this want "
         "different ones";
}

/// "stage 0: convolution  (1, 28, 28) -> (16, 26, 26)" and its layers, a line each; of a copy the one
/// that it is for, and why.
template <class Net, class P>
std::string stage_head(const P& p, int i) {
  const Stage& s = p.stage[std::size_t(i)];
  const auto texts = detail::LayerTexts<nn::flat_layers<Net>>::make(nn::layer_paths<Net>);
  const nn::Reads& from = nn::layer_reads<Net>[std::size_t(s.first)];
  const auto dims = [&](int layer) { return layer < 0 ? p.input : p.dims[std::size_t(layer)]; };
  std::string out = text("\nstage ", i, ": ", s.is_copy() ? "copy" : kind_text(s), "  ",
                         dims_text(i == 0 ? p.input : dims(from.first)),
                         from.second == nn::Reads::none ? "" : " and " + dims_text(dims(from.second)), " -> ",
                         dims_text(dims(s.is_copy() ? from.first : s.last - 1)), "\n");
  for (int l = s.first; l < s.last; ++l)
    out += text("    ", texts[std::size_t(l)].path, ": ", texts[std::size_t(l)].repr, "\n");
  if (s.is_copy())
    out += text("    before ", texts[std::size_t(s.first)].path, ": ", texts[std::size_t(s.first)].repr,
                "\n  stands alone: ", copy_text(p, s), "\n");
  return out;
}

/// Bytes that the stages read and write for a sample: activations of `element` bytes.
template <class P>
double moved_bytes(const P& p, std::size_t element) {
  double elements = 0;
  for (int i = 0; i < p.stages; ++i)
    elements += double(p.in_size(i)) + double(p.stage[std::size_t(i)].out_size());
  return elements * double(element);
}

}  // namespace graph

/// One paragraph a stage: the layers that run as one kernel, shapes, FLOPs, bytes that its forward pass reads
/// and writes (a sample's activations; weights, once for all samples of a slice), and why it ends there.
template <class Net, class In, class Device = Host, class T = float>
std::string explain() {
  if constexpr (!graph::fits<Net, In, typename Device::template Backend<T>>()) return {};
  constexpr auto& p = graph::plan<Net, In, typename Device::template Backend<T>>;
  std::string out = text(p.stages, " stages for ", nn::layer_count<Net>, " layers\n");
  for (int i = 0; i < p.stages; ++i) {
    const graph::Stage& s = p.stage[std::size_t(i)];
    const double read = double(p.in_size(i)) * sizeof(T), written = double(s.out_size()) * sizeof(T);
    out += graph::stage_head<Net>(p, i);
    out += text("  FLOPs ", graph::in_units(2 * double(s.multiply_adds())), ", reads ", graph::in_units(read),
                "B, writes ", graph::in_units(written), "B a sample",
                s.indexed ? " and pooling indices in training" : "");
    if (s.has_parameters())
      out +=
          text("; weights ",
               graph::in_units(double(s.weight_size() + (s.has_bias ? s.bias_size() : 0)) * sizeof(T)), "B");
    out += text("\n  ends here: ", graph::boundary_text(s.boundary), "\n");
  }
  constexpr auto inference = graph::make_plan<Net>(
      In::dims, graph::layout_of<typename Device::template Backend<T>>, true, graph::Mode::inference);
  if (inference.stages < p.stages)
    out += text("\nin inference ", inference.stages, " stages, which move ",
                graph::in_units(graph::moved_bytes(inference, sizeof(T))), "B of activations a sample\n");
  for (int i = 0; i < inference.stages; ++i) {
    const graph::Stage& s = inference.stage[std::size_t(i)];
    const auto name = [](int layer) { return nn::layer_paths<Net>[std::size_t(layer)].text; };
    if (s.folded >= 0)
      out += text("  ", name(s.folded), " is folded into the weights of ", name(s.anchor), "\n");
    if (s.convolves() && s.reads.second != nn::Reads::none)
      out += text("  ", name(s.anchor), " adds the other branch to what it has in registers\n");
  }
  return text(
      out, "\nforward moves ", graph::in_units(graph::moved_bytes(p, sizeof(T))), "B of activations a sample",
      p.chunked > 0 ? text("; stages 0 to ", p.chunked - 1, " run depth-first, a few samples at a time\n")
                    : "\n");
}

/// The same for one training step on `batch` samples where the backend says what it launches: of each kernel
/// its grid, the bytes that it has to read and write, each once, and its FLOPs. An optimizer with momentum is
/// assumed. `batch`: at least 1.
template <class Net, class In, class Device, class T = float>
  requires requires { typename Device::template Backend<T>::Costs; }
std::string explain(int batch) {
  using Backend = typename Device::template Backend<T>;
  if constexpr (!graph::fits<Net, In, Backend>()) return {};
  constexpr auto& p = graph::plan<Net, In, Backend>;
  const auto launches = graph::Launches<Net, In, Backend>::step(batch);
  const auto list = [&](int stage) {
    std::string lines;
    for (const auto& l : launches) {
      if (l.stage != stage) continue;
      lines += text("  ", graph::part_text(l.part), ": ", to_string(l.work), "\n      reads ",
                    graph::in_units(l.work.read), "B, writes ", graph::in_units(l.work.written), "B");
      if (l.flops > 0) lines += text(", FLOPs ", graph::in_units(l.flops));
      lines += "\n";
    }
    return lines;
  };
  const char* const samples = graph::Launches<Net, In, Backend>::reads_samples()
                                  ? "  reads the samples as they come: floats, or a data set's bytes\n"
                                  : "  the samples are stored for it: from a data set on the device in a "
                                    "launch more\n";
  std::string out = text(p.stages, " stages for ", nn::layer_count<Net>, " layers, ", batch, " samples\n");
  for (int i = 0; i < p.stages; ++i)
    out += text(graph::stage_head<Net>(p, i), i == 0 ? samples : "", list(i),
                "  ends here: ", graph::boundary_text(p.stage[std::size_t(i)].boundary), "\n");
  out += text("\nof no stage\n", list(-1));
  double read = 0, written = 0, flops = 0;
  for (const auto& l : launches) read += l.work.read, written += l.work.written, flops += l.flops;
  return text(out, "\na step: ", launches.size(), " launches, reads ", graph::in_units(read), "B, writes ",
              graph::in_units(written), "B, FLOPs ", graph::in_units(flops), "\n");
}

}  // namespace kern
