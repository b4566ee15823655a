#include <cstdio>
#include <kern/io/npy.hpp>
#include <kern/tensor/random.hpp>

using namespace kern;

int main() {
  // region npy
  const auto points = randn<float, Shape<dyn, 3>>(Seed{0}, 100);
  io::save_npy(points, "points.npy");  // numpy.load("points.npy")
  const auto same = io::load_npy<Tensor<float, Shape<dyn, 3>>>("points.npy");
  // endregion
  std::printf("%d x %d\n", same.extent(0), same.extent(1));
  try {
    io::load_npy<Tensor<double, Shape<dyn, 3>>>("points.npy");
  } catch (const DataError& e) {
    std::puts(e.what());
  }
}
