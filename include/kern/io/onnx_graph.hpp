// An ONNX model while it is made: nodes, initializers, their names. Source of the fields' numbers:
// onnx.proto, https://github.com/onnx/onnx. Needs protozero (headers only; the CMake target kern::onnx).
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../core/error.hpp"
#include "../nn/layer.hpp"
#include "utf8.hpp"
#include "write_file.hpp"

namespace kern::io {

/// Names in an ONNX file that the model does not have.
struct OnnxOptions {
  std::string input = "input", output = "output";
};

using OnnxInts = std::vector<std::int64_t>;

/// An attribute of a node, as {"axis", 1}, {"alpha", 0.5f}, {"approximate", "tanh"} or
/// {"strides", OnnxInts{2, 2}}.
struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, OnnxInts> value;
};

/// Says which layer a to_onnx is for: this one, not what derives from it.
template <class L>
struct OnnxLayer {};

/// The nodes that a net becomes. A layer of type L adds its own in
///   std::string to_onnx(OnnxLayer<L>, OnnxGraph& graph, const std::string& x)
/// which takes its input's name and returns its output's. For a layer of a user's it stands in that layer's
/// namespace. Operators are those of opset 20.
class OnnxGraph {
 public:
  static constexpr int opset = 20;      // the oldest with Gelu
  static constexpr int ir_version = 9;  // the oldest with that opset

  /// Adds a node named after the layer; returns its output's name.
  std::string node(std::string_view op, std::vector<std::string> inputs,
                   std::vector<OnnxAttribute> attributes = {}) {
    const std::string name = unused(layer_.empty() ? std::string(op) : layer_);
    nodes_.push_back({std::string(op), name, std::move(inputs), name, std::move(attributes)});
    return name;
  }
  /// The full name of one of the layer's parameters: parameter("weight") is "conv1.weight".
  std::string parameter(std::string_view name) const { return text(layer_, layer_.empty() ? "" : ".", name); }
  /// Adds numbers that are no parameter, in the model's type; returns their full name.
  std::string constant(std::string_view name, const std::vector<int>& shape,
                       const std::vector<double>& values) {
    const std::string full = unused(parameter(name));
    if (type_ == type_of<double>)
      write_initializer(full, shape, values);
    else
      write_initializer(full, shape, std::vector<float>(values.begin(), values.end()));
    return full;
  }
  /// The same, of 64-bit integers: what some operators take in place of attributes.
  std::string integers(std::string_view name, const std::vector<std::int64_t>& values) {
    const std::string full = unused(parameter(name));
    write_initializer(full, {int(values.size())}, values);
    return full;
  }
  /// The shape of a sample of the layer's input.
  Dims in() const { return in_; }

  // What follows is for save_onnx.

  /// A graph of T. Throws ArgumentError if the names are no UTF-8, empty or the same.
  template <class T>
  OnnxGraph(std::type_identity<T>, OnnxOptions names) : type_(type_of<T>), names_(std::move(names)) {
    reserve(names_.input);
    reserve(names_.output);
  }
  /// Adds a parameter. Throws ArgumentError if the input or the output has its name.
  template <class T>
  void initializer(const std::string& name, const std::vector<int>& shape, const std::vector<T>& values) {
    reserve(name);
    write_initializer(name, shape, values);
  }
  /// What is added from now on is the layer's, called `path`, for samples of shape `in`.
  void enter(std::string path, Dims in) {
    layer_ = std::move(path);
    in_ = in;
  }
  /// Writes the file: of a net that takes samples of shape `in`, in batches of any size, to the value y of
  /// shape `out`. Throws DataError, if the file would be too large, too.
  void save(const std::string& path, Dims in, std::string y, Dims out) {
    enter("", out);
    if (y == names_.input) y = node("Identity", {y});
    for (Node& n : nodes_) {
      if (n.output == y) n.output = names_.output;
      std::ranges::replace(n.inputs, y, names_.output);
    }

    std::string nodes, ends, head, tail;
    protozero::pbf_writer graph{nodes};
    for (const Node& n : nodes_) write(protozero::pbf_writer{graph, 1}, n);
    graph.add_string(2, "main_graph");
    protozero::pbf_writer graph_end{ends};
    write(protozero::pbf_writer{graph_end, 11}, names_.input, in);
    write(protozero::pbf_writer{graph_end, 12}, names_.output, out);

    protozero::pbf_writer model{head};
    model.add_int64(1, ir_version);
    model.add_string(2, "kern");
    constexpr int graph_field = 7, length_delimited = 2;
    protozero::write_varint(std::back_inserter(head), graph_field << 3 | length_delimited);
    protozero::write_varint(std::back_inserter(head), nodes.size() + initializers_.size() + ends.size());
    protozero::pbf_writer model_end{tail};
    protozero::pbf_writer{model_end, 8}.add_int64(2, opset);

    std::size_t bytes = 0;
    std::vector<detail::Piece> pieces;
    for (const std::string* s : {&head, &nodes, &initializers_, &ends, &tail}) {
      bytes += s->size();
      pieces.emplace_back(reinterpret_cast<const std::uint8_t*>(s->data()), s->size());
    }
    require_size(path, bytes);
    write_file(path, pieces);
  }
  /// Throws DataError if a file of that many bytes is larger than protobuf lets one be.
  static void require_size(const std::string& path, std::size_t bytes) {
    constexpr std::size_t most = 0x7fffffff;
    if (bytes > most)
      throw DataError(text(path, ": an ONNX file has at most ", most, " bytes, the model has ", bytes));
  }

 private:
  struct Node {
    std::string op, name;
    std::vector<std::string> inputs;
    std::string output;
    std::vector<OnnxAttribute> attributes;
  };
  template <class T>
  static constexpr int type_of =  // TensorProto's DOUBLE, INT64, FLOAT
      std::is_same_v<T, double>         ? 11
      : std::is_same_v<T, std::int64_t> ? 7
                                        : 1;

  /// Whether the name was free, and is taken now.
  bool take(const std::string& name) {
    if (name.empty() || !detail::is_utf8(name))
      throw ArgumentError(text("save_onnx: expected a name in UTF-8, got \"", name, "\""));
    return used_.insert(name).second;
  }
  void reserve(const std::string& name) {
    if (!take(name))
      throw ArgumentError(
          text("save_onnx: more than one input, output or parameter is called \"", name, "\""));
  }
  /// The name, or with a number behind if it is taken.
  std::string unused(const std::string& name) {
    std::string free = name;
    for (int n = 1; !take(free); ++n) free = text(name, "_", n);
    return free;
  }

  // Messages of onnx.proto: AttributeProto, NodeProto, ValueInfoProto, TensorProto.
  static void write(protozero::pbf_writer m, const OnnxAttribute& a) {
    m.add_string(1, a.name);
    if (const auto* f = std::get_if<float>(&a.value)) {
      m.add_float(2, *f);
      m.add_enum(20, 1);
    } else if (const auto* i = std::get_if<std::int64_t>(&a.value)) {
      m.add_int64(3, *i);
      m.add_enum(20, 2);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      m.add_bytes(4, *s);
      m.add_enum(20, 3);
    } else {
      for (const std::int64_t n : std::get<OnnxInts>(a.value)) m.add_int64(8, n);
      m.add_enum(20, 7);
    }
  }
  static void write(protozero::pbf_writer m, const Node& n) {
    for (const std::string& input : n.inputs) m.add_string(1, input);
    m.add_string(2, n.output);
    m.add_string(3, n.name);
    m.add_string(4, n.op);
    for (const OnnxAttribute& a : n.attributes) write(protozero::pbf_writer{m, 5}, a);
  }
  void write(protozero::pbf_writer m, const std::string& name, Dims d) const {
    m.add_string(1, name);
    protozero::pbf_writer type{m, 2};
    protozero::pbf_writer tensor{type, 1};
    tensor.add_int32(1, type_);
    protozero::pbf_writer shape{tensor, 2};
    protozero::pbf_writer{shape, 1}.add_string(2, "batch");
    for (const int extent : d.flat ? std::vector{d.size()} : std::vector{d.c, d.h, d.w})
      protozero::pbf_writer{shape, 1}.add_int64(1, extent);
  }
  template <class T>
  void write_initializer(const std::string& name, const std::vector<int>& shape,
                         const std::vector<T>& values) {
    static_assert(std::endian::native == std::endian::little, "ONNX's numbers are little-endian");
    protozero::pbf_writer all{initializers_};
    protozero::pbf_writer m{all, 5};
    for (const int extent : shape) m.add_int64(1, extent);
    m.add_int32(2, type_of<T>);
    m.add_string(8, name);
    m.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  int type_;
  OnnxOptions names_;
  std::set<std::string> used_;
  std::vector<Node> nodes_;
  std::string initializers_;  // encoded
  std::string layer_;
  Dims in_{};
};

}  // namespace kern::io
