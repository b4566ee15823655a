#include <cstdio>
#include <kern/tensor/tensor.hpp>

using namespace kern;

int main() {
  const auto complain = [](auto wrong) {
    try {
      wrong();
    } catch (const Error& e) {
      std::puts(e.what());
    }
  };
  Tensor<float, Shape<dyn, 3>> t(2);
  complain([&] { t.at(2, 0); });
  complain([&] { TensorView<float, Shape<4, 3>> four(t); });
  complain([&] { t.copy_from(Tensor<float, Shape<dyn, 3>>(5)); });
  complain([&] { t.reshape<Shape<dyn, 4>>(); });
  complain([&] { Tensor<float, Shape<2, 2>>{1, 2, 3}; });
  complain([&] { Tensor<float, Shape<dyn, 3>>(-1); });
}
