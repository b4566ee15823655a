// error: TensorDataset: expected labels (std::int32_t
// Labels of another type than class numbers have.
#include <kern/data/tensor_dataset.hpp>
#include <kern/tensor/tensor.hpp>
using namespace kern;

#ifdef FIXED
using Label = std::int32_t;
#else
using Label = long;
#endif

int main() {
  const Tensor<float, Shape<4, 3>> x;
  const data::TensorDataset set{x, std::vector<Label>(4)};
  return int(set.size());
}
