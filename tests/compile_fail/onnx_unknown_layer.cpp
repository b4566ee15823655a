// error: layer_has_no_to_onnx Cube at_layer<1> cube
// A user's layer that does not say what it is in an ONNX file; that of what it derives from does not count.
#include <kern/graph/model.hpp>
#include <kern/io/onnx.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

struct Cube : ReLU {};
#ifdef FIXED
std::string to_onnx(io::OnnxLayer<Cube>, io::OnnxGraph& graph, const std::string& x) {
  return graph.node("Mul", {x, graph.node("Mul", {x, x})});
}
#endif

int main() {
  Model<Sequential<Linear<4, 4>, Named<"cube", Cube>>, Input<4>> model;
  io::save_onnx(model, "net.onnx");
}
