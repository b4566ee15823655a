// A net as an ONNX file, for the programs that run such: PyTorch's torch.onnx.export. Opt-in: needs protozero
// (headers only; the CMake target kern::onnx).
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../graph/checked.hpp"
#include "onnx_layers.hpp"

namespace kern::io {

/// The words of a compile error: a layer for which there is no to_onnx (onnx_graph.hpp). Never defined.
template <class Layer, class... Words>
struct layer_has_no_to_onnx;

namespace detail {
/// outputs: the names of the net's input and of the outputs of the layers before.
template <class Net, std::size_t I, class Plan>
std::string layer_to_onnx(OnnxGraph& graph, const std::vector<std::string>& outputs, const Plan& plan) {
  using Layer = std::tuple_element_t<I, nn::flat_layers<Net>>;
  constexpr nn::Reads from = nn::layer_reads<Net>[I];
  const std::string& x = outputs[std::size_t(from.first + 1)];
  graph.enter(nn::layer_paths<Net>[I].text,
              from.first < 0 ? plan.input : plan.dims[std::size_t(std::max(from.first, 0))]);
  if constexpr (from.second != nn::Reads::none) {
    return to_onnx(OnnxLayer<Layer>{}, graph, x, outputs[std::size_t(from.second + 1)]);
  } else if constexpr (requires { to_onnx(OnnxLayer<Layer>{}, graph, x); }) {
    return to_onnx(OnnxLayer<Layer>{}, graph, x);
  } else {
    (void)sizeof(layer_has_no_to_onnx<Layer, at_layer<int(I)>, named<graph::layer_text<Net, int(I)>()>>);
    return x;
  }
}
}  // namespace detail

/// Saves a model as an ONNX file that computes what model.predict() does, for batches of any size. Nodes have
/// the layers' names, initializers PyTorch's names for parameters; dropout is left out. Numbers are those of
/// the model, float or double, but ONNX has the alpha of ELU and LeakyReLU as float only. The operators are
/// those of opset 20. A layer of your own needs a to_onnx: see OnnxGraph. The file is replaced as a whole or
/// not at all (write_file). Throws DataError if it can't be written or would be larger than 2 GB,
/// ArgumentError if a name is not UTF-8, or two of input, output and parameters have the same one.
template <class Model>
void save_onnx(const Model& model, const std::string& path, const OnnxOptions& options = {}) {
  using T = typename Model::Element;
  using Net = typename Model::Net;
  const auto& plan = model.plan();
  OnnxGraph::require_size(path, (plan.parameters + plan.buffers) * sizeof(T));
  OnnxGraph graph(std::type_identity<T>{}, options);
  for (const std::string& name : Model::parameter_names())
    graph.initializer(name, Model::parameter_shape(name), model.parameter(name));
  for (const std::string& name : Model::buffer_names())
    graph.initializer(name, Model::buffer_shape(name), model.buffer(name));
  std::vector<std::string> outputs{options.input};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (outputs.push_back(detail::layer_to_onnx<Net, I>(graph, outputs, plan)), ...);
  }(std::make_index_sequence<std::size_t(nn::layer_count<Net>)>{});
  graph.save(path, plan.input, outputs.back(), plan.output());
}

}  // namespace kern::io
