// A net as TensorFlow's GraphDef, which TensorBoard draws. Source of the fields' numbers: graph.proto,
// node_def.proto, attr_value.proto, tensor_shape.proto and versions.proto of tensorflow/core/framework. Needs
// protozero (headers only; the CMake target kern::tensorboard).
#pragma once
#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../graph/text.hpp"
#include "../nn/sequential.hpp"
#include "utf8.hpp"

namespace kern::io::detail {

class GraphDef {
 public:
  /// Adds a node, and returns the name it got: `name`, or another if there is such a node. Its output has
  /// these dims behind those of a batch of any size.
  std::string node(std::string name, std::string_view op, const std::vector<std::string>& inputs,
                   std::string_view description, Dims dims) {
    if (!is_utf8(name)) throw ArgumentError(text("add_graph: expected a layer's name in UTF-8, got ", name));
    while (!names_.insert(name).second) name += '_';
    protozero::pbf_writer graph{message_};
    protozero::pbf_writer m{graph, 1};
    m.add_string(1, name);
    m.add_string(2, op.data(), op.size());
    for (const std::string& input : inputs) m.add_string(3, input);
    attribute(m, "_output_shapes", [&](protozero::pbf_writer& value) {
      protozero::pbf_writer list{value, 1};
      protozero::pbf_writer shape{list, 7};
      dimension(shape, -1);
      if (dims.flat) {
        dimension(shape, dims.size());
      } else {
        for (const int size : {dims.c, dims.h, dims.w}) dimension(shape, size);
      }
    });
    attribute(m, "attr",
              [&](protozero::pbf_writer& v) { v.add_bytes(2, description.data(), description.size()); });
    return name;
  }
  /// The message: all nodes, and as version 22, as PyTorch's.
  std::string message() && {
    protozero::pbf_writer graph{message_};
    protozero::pbf_writer versions{graph, 4};
    versions.add_int32(1, 22);
    versions.commit();
    return std::move(message_);
  }

 private:
  template <class Fill>
  static void attribute(protozero::pbf_writer& node, std::string_view key, Fill fill) {
    protozero::pbf_writer entry{node, 5};
    entry.add_string(1, key.data(), key.size());
    protozero::pbf_writer value{entry, 2};
    fill(value);
  }
  static void dimension(protozero::pbf_writer& shape, std::int64_t size) {
    protozero::pbf_writer d{shape, 2};
    d.add_int64(1, size);
  }

  std::string message_;
  std::set<std::string> names_;
};

/// A model's layers, each a node named after it, "conv1" or "2/0" for layer 2.0, and reading what it reads.
template <class Model>
std::string graph_def(const Model& model) {
  using Net = typename Model::Net;
  const auto& plan = model.plan();
  GraphDef graph;
  std::vector<std::string> outputs{graph.node("input", "IO Node", {}, "", plan.input)};
  std::size_t layer = 0;
  for (const graph::LayerText& t :
       graph::detail::LayerTexts<nn::flat_layers<Net>>::make(nn::layer_paths<Net>)) {
    const nn::Reads from = nn::layer_reads<Net>[layer];
    std::vector<std::string> inputs{outputs[std::size_t(from.first + 1)]};
    if (from.second != nn::Reads::none) inputs.push_back(outputs[std::size_t(from.second + 1)]);
    const std::string op = t.repr.substr(0, t.repr.find('('));
    std::string name = t.path.empty() ? op : t.path;
    std::ranges::replace(name, '.', '/');
    outputs.push_back(graph.node(std::move(name), op, inputs, t.repr, plan.dims[layer]));
    ++layer;
  }
  graph.node("output", "IO Node", {outputs.back()}, "", plan.output());
  return std::move(graph).message();
}

}  // namespace kern::io::detail
