// kern::npz brings libzip along.
#include <cstdio>
#include <kern/io/npz.hpp>

using namespace kern;

int main(int, char** argv) {
  io::save_npz(argv[1], {{"a", Tensor<float, Shape<2>>{1, 2}}});
  if (io::NpzFile(argv[1]).tensor<Tensor<float, Shape<2>>>("a")(1) != 2) return 1;
  std::puts("consumer ok");
}
