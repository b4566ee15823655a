// PyTorch writes ", device='cuda:0'" behind the elements, then size and dtype: torch/_tensor_str.py,
// _str_intern and _add_suffixes. Elsewhere the text is the host's (tests/tensor/print_test.cpp).
#include "kern/cuda/print.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <sstream>

using namespace kern;

TEST_CASE("the device stands behind the elements") {
  const Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4.5f}};
  const auto on = t.to(Cuda{0});
  const std::string expected =
      "tensor([[1.0000, 2.0000],\n"
      "        [3.0000, 4.5000]], device='cuda:0')";
  CHECK(to_string(on) == expected);
  CHECK(to_string(on.view()) == expected);
  std::ostringstream out;
  out << on << on[0];
  CHECK(out.str() == expected + "tensor([1., 2.], device='cuda:0')");
}

TEST_CASE("the type behind the device, where the host names it") {
  CHECK(to_string(Tensor<double, Shape<2>, Cuda>::ones()) ==
        "tensor([1., 1.], device='cuda:0', dtype=float64)");
  CHECK(to_string(Tensor<int, Shape<1>, Cuda>::full(-7)) == "tensor([-7], device='cuda:0', dtype=int32)");
  CHECK(to_string(Tensor<std::uint8_t, Shape<1>, Cuda>::full(7)) ==
        "tensor([7], device='cuda:0', dtype=uint8)");
  CHECK(to_string(Tensor<std::int64_t, Shape<1>, Cuda>::full(7)) == "tensor([7], device='cuda:0')");
  CHECK(to_string(Tensor<bool, Shape<2>, Cuda>::full(true)) == "tensor([True, True], device='cuda:0')");
  CHECK(to_string(Tensor<float, Shape<>, Cuda>::full(2.5f)) == "tensor(2.5000, device='cuda:0')");
}

TEST_CASE("no elements: device, size, type") {
  CHECK(to_string(Tensor<float, Shape<0>, Cuda>()) == "tensor([], device='cuda:0')");
  CHECK(to_string(Tensor<float, Shape<0, 3>, Cuda>()) == "tensor([], device='cuda:0', size=(0, 3))");
  CHECK(to_string(Tensor<std::int64_t, Shape<2, 0>, Cuda>()) ==
        "tensor([], device='cuda:0', size=(2, 0), dtype=int64)");
  CHECK(to_string(Tensor<bool, Shape<0>, Cuda>()) == "tensor([], device='cuda:0', dtype=bool)");
}

TEST_CASE("a line breaks where 80 columns would be passed") {
  // _add_suffixes: the last line of 57 characters is counted as 58 + 1; 17 for the device and 2 make 78. With
  // one element more the device stands on a line of its own.
  const auto row = [](int n) { return to_string(Tensor<std::int64_t, Shape<dyn>, Cuda>::full(1, n)); };
  const auto ones = [](int n) {
    std::string s = "tensor([1";
    for (int i = 1; i < n; ++i) s += ", 1";
    return s + "]";
  };
  CHECK(row(16).find('\n') == std::string::npos);
  CHECK(row(18) == ones(18) + ", device='cuda:0')");  // 61 characters + 2 + 15 + 2 = 80
  CHECK(row(19) == ones(19) + ",\n       device='cuda:0')");
  // The type, torch.float64 there, may break again.
  const auto reals = [](int n) { return to_string(Tensor<double, Shape<dyn>, Cuda>::full(1, n)); };
  CHECK(reals(2) == "tensor([1., 1.], device='cuda:0', dtype=float64)");
  CHECK(reals(9) == "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1.], device='cuda:0',\n       dtype=float64)");
}
