// kern::onnx brings protozero along.
#include <cstdio>
#include <kern/io/onnx.hpp>
#include <kern/kern.hpp>

using namespace kern;

int main(int, char** argv) {
  const Model<nn::Linear<3, 2>, Input<3>> model;
  io::save_onnx(model, argv[1]);
  std::puts("consumer ok");
}
