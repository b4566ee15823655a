#include <kern/io/onnx.hpp>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

// region layer
struct Leak : LeakyReLU<0.25> {};
std::string to_onnx(io::OnnxLayer<Leak>, io::OnnxGraph& graph, const std::string& x) {
  return graph.node("LeakyRelu", {x}, {{"alpha", 0.25f}});
}
// endregion

using Net = Sequential<Named<"conv1", Conv2d<1, 8, 3>>, Leak, GlobalAvgPool2d, Flatten,
                       Named<"fc1", Linear<8, 10>>, LogSoftmax>;

int main() {
  // region save
  Model<Net, Input<1, 28, 28>> model{Seed{0}};
  io::save_onnx(model, "net.onnx", {.input = "images", .output = "scores"});  // or "input", "output"
  // endregion
}
