#include <cstdio>
#include <kern/io/npz.hpp>
#include <kern/tensor/random.hpp>

using namespace kern;

int main() {
  const auto points = randn<float, Shape<dyn, 3>>(Seed{0}, 100);
  const auto labels = Tensor<std::int64_t, Shape<dyn>>::arange(100);
  // region npz
  io::save_npz("set.npz", {{"points", points}, {"labels", labels}});  // or save_npz_compressed
  const io::NpzFile set{"set.npz"};
  const auto same = set.tensor<Tensor<float, Shape<dyn, 3>>>("points");
  for (const std::string& name : set.names()) std::puts(name.c_str());
  // endregion
  std::printf("%d x %d\n", same.extent(0), same.extent(1));
}
