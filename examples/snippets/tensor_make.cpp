#include <cstdint>
#include <cstdio>
#include <kern/tensor/print.hpp>
#include <kern/tensor/random.hpp>
#include <string>
#include <vector>

using namespace kern;

int main() {
  const Tensor<float, Shape<2, 3>> zeros;                            // every extent known: no arguments
  const auto ones = Tensor<double, Shape<dyn, 3>>::ones(2);          // the dyn extents, in order
  const auto full = Tensor<int, Shape<2, dyn>>::full(7, 3);          // ... behind the value
  const Tensor<float, Shape<2, 2>> nested{{1, 2}, {3, 4.5f}};        // braces as deep as the shape,
  const Tensor<float, Shape<dyn, 2>> flat{1, 2, 3, 4, 5, 6};         // or flat: 3 rows follow from 6 values
  const auto range = Tensor<float, Shape<dyn>>::arange(0, 1, 0.25);  // start, end, step: as torch.arange

  const std::vector<std::uint8_t> bytes{0, 64, 128, 255};
  const auto copied = Tensor<std::uint8_t, Shape<2, 2>>::from(bytes);

  const auto uniform = rand<float, Shape<2, 2>>(Seed{0});       // in [0, 1)
  const auto normal = randn<float, Shape<dyn, 2>>(Seed{0}, 2);  // mean 0, deviation 1

  for (const std::string& text :
       {to_string(zeros), to_string(ones), to_string(full), to_string(nested), to_string(flat),
        to_string(range), to_string(copied), to_string(uniform), to_string(normal)})
    std::puts(text.c_str());
}
