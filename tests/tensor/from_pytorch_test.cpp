// What someone who comes from PyTorch tries first: the Python line stands behind each.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kern/tensor/print.hpp"
#include "kern/tensor/random.hpp"
#include "kern/tensor/tensor.hpp"

using namespace kern;

namespace {
float mean(TensorView<const float, Shape<dyn, dyn>> x) {
  float sum = 0;
  for (float e : x) sum += e;
  return sum / float(x.size());
}
}  // namespace

TEST_CASE("making tensors") {
  const Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};  // torch.tensor([[1., 2, 3], [4, 5, 6]])
  const auto zeros = Tensor<float, Shape<2, 3>>::zeros();    // torch.zeros(2, 3)
  const auto ones = Tensor<double, Shape<dyn, 3>>::ones(2);  // torch.ones(2, 3, dtype=torch.float64)
  const auto full = Tensor<float, Shape<2, 2>>::full(0.5f);  // torch.full((2, 2), 0.5)
  const auto count = Tensor<std::int64_t, Shape<dyn>>::arange(2, 9, 3);  // torch.arange(2, 9, 3)
  const Tensor<float, Shape<>> scalar{3.5f};                             // torch.tensor(3.5)
  const std::vector<float> values{1, 2, 3, 4};
  const auto copied = Tensor<float, Shape<2, 2>>::from(values);      // torch.tensor(values).reshape(2, 2)
  const TensorView<const float, Shape<2, 2>> shared(values.data());  // torch.from_numpy(values)
  CHECK(to_string(x) == "tensor([[1., 2., 3.],\n        [4., 5., 6.]])");
  CHECK(to_string(zeros) == "tensor([[0., 0., 0.],\n        [0., 0., 0.]])");
  CHECK(to_string(ones) == "tensor([[1., 1., 1.],\n        [1., 1., 1.]], dtype=float64)");
  CHECK(to_string(full) == "tensor([[0.5000, 0.5000],\n        [0.5000, 0.5000]])");
  CHECK(to_string(count) == "tensor([2, 5, 8])");
  CHECK(to_string(scalar) == "tensor(3.5000)");
  CHECK(to_string(copied) == to_string(shared));
}

TEST_CASE("random tensors") {
  const auto noise = randn<float, Shape<dyn, 3>>(Seed{0}, 1000);  // torch.randn(1000, 3)
  const auto unit = rand<float, Shape<1000>>(Seed{0});            // torch.rand(1000)
  CHECK(noise.size() == 3000);
  CHECK(std::abs(mean(noise)) < 0.1f);  // five deviations of the mean
  for (float e : unit) CHECK((e >= 0 && e < 1));
}

TEST_CASE("reading and writing") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(x(1, 2) == 6);   // x[1, 2].item()
  x(0, 0) = 10;          // x[0, 0] = 10
  CHECK(x[0][0] == 10);  // x[0][0].item()
  x[1].fill(7);          // x[1] = 7
  x[1][2] = 8;           // x[1][2] = 8
  CHECK(to_string(x[1]) == "tensor([7., 7., 8.])");
  CHECK(x.extent(0) == 2);                        // x.size(0)
  CHECK(x.size() == 6);                           // x.numel()
  CHECK(shape_string(x.shape()) == "(2, 3)");     // x.shape
  CHECK(Tensor<float, Shape<1>>{2}.item() == 2);  // x.item()
  float product = 1;
  for (float e : x) product *= e;  // x.prod()
  CHECK(product == 10.0f * 2 * 3 * 7 * 7 * 8);
}

TEST_CASE("copying and passing on") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  auto y = x.clone();  // y = x.clone()
  y(0, 0) = 0;
  CHECK(x(0, 0) == 1);
  x.copy_from(y);  // x.copy_(y)
  CHECK(x(0, 0) == 0);
  x[0].copy_from(y[1]);  // x[0].copy_(y[1])
  CHECK(x(0, 2) == 6);
  const auto z = std::move(y);                // del y
  CHECK(mean(z) == 20.0f / 6);                // z.mean()
  const auto flat = x.reshape<Shape<dyn>>();  // x.reshape(-1)
  CHECK(flat[5] == 6);
  const auto tall = x.reshape<Shape<3, 2>>();  // x.view(3, 2)
  CHECK(tall(2, 0) == 5);
  const auto whole = Tensor<int, Shape<2, 3>>::copy_of(x);  // x.to(torch.int32)
  CHECK(whole(1, 1) == 5);
  const std::vector<float> list(x.begin(), x.end());  // x.flatten().tolist()
  CHECK(list.size() == 6);
  CHECK(std::span<const float>(x)[5] == 6);  // x.numpy()
}
