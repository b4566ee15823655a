#include "kern/io/onnx.hpp"

#include <doctest/doctest.h>

#include <protozero/pbf_reader.hpp>

#include "support/files.hpp"
#include "support/onnx_net.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;
using data::Bytes;
using data::detail::read_bytes;
using io::OnnxGraph;
using io::save_onnx;
using Words = std::vector<std::string>;

namespace {

/// A user's layer, as any other in a net.
struct Twice {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = nn::detail::no_parameters;
  template <bool Flat>
  static constexpr ops::LeakyRelu op(std::uint32_t) {
    return {2};
  }
  static std::string repr() { return "Twice()"; }
};
std::string to_onnx(io::OnnxLayer<Twice>, OnnxGraph& graph, const std::string& x) {
  return graph.node("Add", {x, x});
}

/// One whose output is not that of its last node.
struct Measured : ReLU {};
std::string to_onnx(io::OnnxLayer<Measured>, OnnxGraph& graph, const std::string& x) {
  const std::string y = graph.node("Relu", {x});
  graph.node("Size", {y});
  return y;
}

/// What a file says: its nodes as "Conv conv1: input conv1.weight -> conv1", the names of its initializers
/// and of its inputs and outputs.
struct Contents {
  Words nodes, initializers, ends;
};
std::string text_at(protozero::pbf_reader message, protozero::pbf_tag_type field) {
  return message.next(field) ? message.get_string() : "";
}
Contents read(const std::string& path) {
  const Bytes bytes = read_bytes(path);
  protozero::pbf_reader model(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  REQUIRE(model.next(7));
  protozero::pbf_reader graph = model.get_message();
  Contents c;
  while (graph.next()) {
    const auto field = graph.tag();
    protozero::pbf_reader m = graph.get_message();
    if (field == 1) {
      std::string words = text_at(m, 4) + " " + text_at(m, 3) + ":";
      for (protozero::pbf_reader i = m; i.next(1);) words += " " + i.get_string();
      c.nodes.push_back(words + " -> " + text_at(m, 2));
    } else if (field == 5) {
      c.initializers.push_back(text_at(m, 8));
    } else if (field == 11 || field == 12) {
      c.ends.push_back(text_at(m, 1));
    }
  }
  return c;
}
template <class Net, class In>
Contents exported(const io::OnnxOptions& options = {}) {
  const Folder folder;
  save_onnx(Model<Net, In>(), folder / "net.onnx", options);
  return read(folder / "net.onnx");
}
template <class Model>
bool same_as_golden(Model& model, const std::string& name) {
  const Folder folder;
  set_parameters(model);
  save_onnx(model, folder / name);
  return read_bytes(folder / name) == read_bytes(KERN_TEST_DATA "/onnx/" + name);
}

}  // namespace

TEST_CASE("every layer, to the byte what the onnx package writes; sizes in types or at run time only") {
  Model<EveryLayer, Input<3, 10, 9>> model;
  CHECK(same_as_golden(model, "layers.onnx"));
  Model<erase_shapes<EveryLayer>, Input<3, dyn, dyn>, Host, double> doubles(Dims{3, 10, 9});
  CHECK(same_as_golden(doubles, "double.onnx"));
}

TEST_CASE("names: of a single layer, given twice, chosen for input and output, or taken by a layer") {
  const Contents one = exported<Linear<3, 2>, Input<3>>();
  CHECK(one.nodes == Words{"Gemm Gemm: input weight bias -> output"});
  CHECK(one.initializers == Words{"weight", "bias"});
  CHECK(one.ends == Words{"input", "output"});

  using Net = Sequential<Named<"act", ReLU>, Named<"act", Twice>, Named<"input", Linear<3, 3>>, Dropout<>>;
  CHECK(exported<Net, Input<3>>().nodes == Words{"Relu act: input -> act", "Add act_1: act act -> act_1",
                                                 "Gemm input_1: act_1 input.weight input.bias -> output"});
  const Contents chosen = exported<Net, Input<3>>({.input = "größe", .output = "act"});
  CHECK(chosen.nodes == Words{"Relu act_1: größe -> act_1", "Add act_2: act_1 act_1 -> act_2",
                              "Gemm input: act_2 input.weight input.bias -> act"});
  CHECK(chosen.ends == Words{"größe", "act"});
}

TEST_CASE("a net that does nothing when it does not train") {
  CHECK(exported<Dropout<>, Input<3>>().nodes == Words{"Identity Identity: input -> output"});
}

TEST_CASE("a layer normalisation without a weight") {
  CHECK(exported<Sequential<LayerNorm<3, Affine::off>>, Input<3>>().nodes ==
        Words{"LayerNormalization 0: input 0.ones -> output"});
}

TEST_CASE("an output that another node reads") {
  CHECK(exported<Measured, Input<3>>().nodes ==
        Words{"Relu Relu: input -> output", "Size Size: output -> Size"});
}

TEST_CASE("names that can't be, a folder that is not there, a model that no file can hold") {
  const Folder folder;
  const Model<Linear<3, 2>, Input<3>> model;
  const auto refusal = [&](const io::OnnxOptions& options) {
    return thrown<ArgumentError>([&] { save_onnx(model, folder / "net.onnx", options); });
  };
  CHECK(refusal({.input = "x", .output = "x"}) ==
        "save_onnx: more than one input, output or parameter is called \"x\"");
  CHECK(refusal({.input = "bias"}) ==
        "save_onnx: more than one input, output or parameter is called \"bias\"");
  CHECK(refusal({.input = ""}) == "save_onnx: expected a name in UTF-8, got \"\"");
  CHECK(refusal({.output = "\xff"}) == "save_onnx: expected a name in UTF-8, got \"\xff\"");
  CHECK(!std::filesystem::exists(folder / "net.onnx"));
  CHECK(thrown<DataError>([&] { save_onnx(model, folder / "no/net.onnx"); }) ==
        folder / "no/net.onnx: cannot be written: No such file or directory");
  OnnxGraph::require_size("net.onnx", 2147483647);
  CHECK(thrown<DataError>([] { OnnxGraph::require_size("net.onnx", 2147483648); }) ==
        "net.onnx: an ONNX file has at most 2147483647 bytes, the model has 2147483648");
}
