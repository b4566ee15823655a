// What each layer becomes in an ONNX file: PyTorch's layouts are ONNX's, too. Needs protozero (headers only;
// the CMake target kern::onnx).
#pragma once
#include "../nn/nn.hpp"
#include "onnx_graph.hpp"

namespace kern::io {

namespace detail {

/// A sliding window's attributes.
inline std::vector<OnnxAttribute> window(Size2 kernel, Size2 stride, Size2 padding) {
  return {{"kernel_shape", OnnxInts{kernel.h, kernel.w}},
          {"pads", OnnxInts{padding.h, padding.w, padding.h, padding.w}},
          {"strides", OnnxInts{stride.h, stride.w}}};
}
template <class L>
std::vector<OnnxAttribute> window(OnnxLayer<L>) {
  return window(L::kernel, L::stride, L::padding);
}
/// A layer's input, and its parameters as further inputs.
template <class L>
std::vector<std::string> with_parameters(OnnxLayer<L>, const OnnxGraph& graph, const std::string& x) {
  std::vector<std::string> inputs{x};
  for (const nn::Parameter& p : L::parameters) inputs.push_back(graph.parameter(p.name));
  return inputs;
}
inline std::string average_pool(OnnxGraph& graph, const std::string& x, bool count_padding,
                                std::vector<OnnxAttribute> attributes) {
  attributes.insert(attributes.begin(), {"count_include_pad", count_padding});
  return graph.node("AveragePool", {x}, std::move(attributes));
}
/// What number k of `in` counts in the mean over adaptive bin i of `bins`.
constexpr double share(std::int64_t i, int bins, std::int64_t k, int in) {
  const std::int64_t first = i * in / bins, last = ((i + 1) * in + bins - 1) / bins;
  return k >= first && k < last ? 1 / double(last - first) : 0;
}

}  // namespace detail

/// Attributes are named where they differ from ONNX's defaults, in the order of their names.
template <int In, int Out, auto Kernel, auto Stride, auto Padding, auto... Options>
std::string to_onnx(OnnxLayer<nn::Conv2d<In, Out, Kernel, Stride, Padding, Options...>> layer,
                    OnnxGraph& graph, const std::string& x) {
  using L = nn::Conv2d<In, Out, Kernel, Stride, Padding, Options...>;
  auto attributes = detail::window(layer);
  if (L::groups != 1) attributes.insert(attributes.begin(), {"group", L::groups});
  if (L::dilation != Size2{1, 1})
    attributes.insert(attributes.begin(), {"dilations", OnnxInts{L::dilation.h, L::dilation.w}});
  return graph.node("Conv", detail::with_parameters(layer, graph, x), std::move(attributes));
}
template <int In, int Out, nn::Bias HasBias>
std::string to_onnx(OnnxLayer<nn::Linear<In, Out, HasBias>> layer, OnnxGraph& graph, const std::string& x) {
  return graph.node("Gemm", detail::with_parameters(layer, graph, x), {{"transB", 1}});
}
/// The file's input has numbers of the model's type, as samples have here.
template <int Num, int Dim, int PaddingIdx>
std::string to_onnx(OnnxLayer<nn::Embedding<Num, Dim, PaddingIdx>>, OnnxGraph& graph, const std::string& x) {
  constexpr int int64 = 7;  // TensorProto's
  const std::string index = graph.node("Cast", {x}, {{"to", int64}});
  const std::string rows = graph.node("Gather", {graph.parameter("weight"), index});
  const std::string channels = graph.node("Transpose", {rows}, {{"perm", OnnxInts{0, 2, 1}}});
  return graph.node("Unsqueeze", {channels, graph.integers("axes", {3})});
}
inline std::string to_onnx(OnnxLayer<nn::Flatten>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Flatten", {x}, {{"axis", 1}});
}

template <auto Kernel, auto Stride, auto Padding>
std::string to_onnx(OnnxLayer<nn::MaxPool2d<Kernel, Stride, Padding>> layer, OnnxGraph& graph,
                    const std::string& x) {
  return graph.node("MaxPool", {x}, detail::window(layer));
}
template <auto Kernel, auto Stride, auto Padding, nn::CountPadding Count>
std::string to_onnx(OnnxLayer<nn::AvgPool2d<Kernel, Stride, Padding, Count>> layer, OnnxGraph& graph,
                    const std::string& x) {
  return detail::average_pool(graph, x, Count == nn::CountPadding::on, detail::window(layer));
}
/// Where the bins are not all of one size, ONNX has no such pooling: y = rows * x * columns for each channel.
template <auto Output>
std::string to_onnx(OnnxLayer<nn::AdaptiveAvgPool2d<Output>>, OnnxGraph& graph, const std::string& x) {
  constexpr Size2 out = kern::detail::size2(Output);
  const Dims in = graph.in();
  if (out == Size2{1, 1}) return graph.node("GlobalAveragePool", {x});
  if (in.h % out.h == 0 && in.w % out.w == 0) {
    const Size2 bin{in.h / out.h, in.w / out.w};
    return detail::average_pool(graph, x, false, detail::window(bin, bin, {0, 0}));
  }
  std::vector<double> rows, columns;
  for (int i = 0; i < out.h; ++i)
    for (int k = 0; k < in.h; ++k) rows.push_back(detail::share(i, out.h, k, in.h));
  for (int k = 0; k < in.w; ++k)
    for (int j = 0; j < out.w; ++j) columns.push_back(detail::share(j, out.w, k, in.w));
  const std::string y = graph.node("MatMul", {graph.constant("rows", {out.h, in.h}, rows), x});
  return graph.node("MatMul", {y, graph.constant("columns", {in.w, out.w}, columns)});
}

namespace detail {
/// Without a weight and a bias these are constants, ones and zeros.
template <class L>
std::string batch_norm(OnnxLayer<L> layer, OnnxGraph& graph, const std::string& x, int features) {
  std::vector<std::string> inputs = with_parameters(layer, graph, x);
  if (inputs.size() == 1) {
    inputs.push_back(graph.constant("ones", {features}, std::vector<double>(std::size_t(features), 1)));
    inputs.push_back(graph.constant("zeros", {features}, std::vector<double>(std::size_t(features), 0)));
  }
  for (const nn::Parameter& p : L::buffers) inputs.push_back(graph.parameter(p.name));
  return graph.node("BatchNormalization", std::move(inputs), {{"epsilon", float(L::rates.eps)}});
}
}  // namespace detail
template <int Features, double Eps, double Momentum, nn::Affine HasAffine>
std::string to_onnx(OnnxLayer<nn::BatchNorm2d<Features, Eps, Momentum, HasAffine>> layer, OnnxGraph& graph,
                    const std::string& x) {
  return detail::batch_norm(layer, graph, x, Features);
}
template <int Features, double Eps, double Momentum, nn::Affine HasAffine>
std::string to_onnx(OnnxLayer<nn::BatchNorm1d<Features, Eps, Momentum, HasAffine>> layer, OnnxGraph& graph,
                    const std::string& x) {
  return detail::batch_norm(layer, graph, x, Features);
}

/// Of branches two at a time.
template <stage::Joining How, Mismatch Kind>
std::string to_onnx(OnnxLayer<nn::detail::Join<How, Kind>>, OnnxGraph& graph, const std::string& a,
                    const std::string& b) {
  if constexpr (How == stage::join_sum)
    return graph.node("Add", {a, b});
  else
    return graph.node("Concat", {a, b}, {{"axis", 1}});
}
/// Over all dimensions but the batch's. ONNX wants a weight: ones where there is none.
template <auto... Arguments>
std::string to_onnx(OnnxLayer<nn::LayerNorm<Arguments...>> layer, OnnxGraph& graph, const std::string& x) {
  using L = nn::LayerNorm<Arguments...>;
  std::vector<std::string> inputs = detail::with_parameters(layer, graph, x);
  const Dims d = graph.in();
  if (inputs.size() == 1)
    inputs.push_back(graph.constant("ones", d.flat ? std::vector{d.size()} : std::vector{d.c, d.h, d.w},
                                    std::vector<double>(std::size_t(d.size()), 1)));
  return graph.node("LayerNormalization", std::move(inputs), {{"axis", 1}, {"epsilon", float(L::rates.eps)}});
}

inline std::string to_onnx(OnnxLayer<nn::Identity>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Identity", {x});
}
/// Nothing: an exported net does not train.
template <double P>
std::string to_onnx(OnnxLayer<nn::Dropout<P>>, OnnxGraph&, const std::string& x) {
  return x;
}
template <double P>
std::string to_onnx(OnnxLayer<nn::Dropout2d<P>>, OnnxGraph&, const std::string& x) {
  return x;
}

inline std::string to_onnx(OnnxLayer<nn::ReLU>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Relu", {x});
}
template <double NegativeSlope>
std::string to_onnx(OnnxLayer<nn::LeakyReLU<NegativeSlope>>, OnnxGraph& graph, const std::string& x) {
  return graph.node("LeakyRelu", {x}, {{"alpha", float(NegativeSlope)}});
}
template <double Alpha>
std::string to_onnx(OnnxLayer<nn::ELU<Alpha>>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Elu", {x}, {{"alpha", float(Alpha)}});
}
inline std::string to_onnx(OnnxLayer<nn::Sigmoid>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Sigmoid", {x});
}
inline std::string to_onnx(OnnxLayer<nn::Tanh>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Tanh", {x});
}
template <nn::Approximate How>
std::string to_onnx(OnnxLayer<nn::GELU<How>>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Gelu", {x}, {{"approximate", How == nn::Approximate::tanh ? "tanh" : "none"}});
}
inline std::string to_onnx(OnnxLayer<nn::SiLU>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Mul", {x, graph.node("Sigmoid", {x})});
}
inline std::string to_onnx(OnnxLayer<nn::Hardswish>, OnnxGraph& graph, const std::string& x) {
  return graph.node("HardSwish", {x});
}
inline std::string to_onnx(OnnxLayer<nn::Softmax>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Softmax", {x}, {{"axis", 1}});
}
inline std::string to_onnx(OnnxLayer<nn::LogSoftmax>, OnnxGraph& graph, const std::string& x) {
  return graph.node("LogSoftmax", {x}, {{"axis", 1}});
}

}  // namespace kern::io
