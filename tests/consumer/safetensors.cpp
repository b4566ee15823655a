// kern::safetensors brings nlohmann's JSON library along.
#include <cstdio>
#include <kern/io/safetensors.hpp>
#include <kern/kern.hpp>

using namespace kern;

int main(int, char** argv) {
  Model<nn::Linear<3, 2>, Input<3>> model{Seed{1}}, other{Seed{2}};
  io::save_model(model, argv[1]);
  io::load_model(other, argv[1]);
  if (other.parameter("weight") != model.parameter("weight")) return 1;
  std::puts("consumer ok");
}
