// kern::tensorboard brings protozero and zlib along.
#include <cstdio>
#include <kern/io/tensorboard.hpp>

using namespace kern;

int main(int, char** argv) {
  io::SummaryWriter writer{argv[1]};
  writer.add_scalar("loss", 0.5);
  writer.add_image("picture", Tensor<float, Shape<1, 2, 2>>{0, 1, 0.5f, 0.25f});
  std::puts("consumer ok");
}
