// On two devices; where there is one, the test is skipped.
#include <doctest/doctest.h>

#include "../support/skip.hpp"
#include "kern/cuda/cuda.hpp"

using namespace kern;

namespace {
int current() {
  int device = -1;
  gpu::check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}
}  // namespace

TEST_CASE("two devices: each keeps its own, and the current one stays") {
  int count = 0;
  gpu::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count < 2) test::skip("there is one GPU; this test needs two");

  REQUIRE(current() == 0);
  {
    const gpu::OnDevice on(1);
    CHECK(current() == 1);
    {
      const gpu::OnDevice in(0);
      CHECK(current() == 0);
    }
    CHECK(current() == 1);
  }
  CHECK(current() == 0);

  const Tensor<float, Shape<2>> host{1, 2};
  auto second = host.to(Cuda{1});
  second[1].fill(5);
  CHECK(current() == 0);
  CHECK(second.device() == Cuda{1});
  CHECK(to_string(second) == "tensor([1., 5.], device='cuda:1')");
  CHECK(second[1].item() == 5);
  const auto numbers = randn<float, Shape<3>>(Seed{2}, Cuda{1}).to(Host{});
  const auto expected = randn<float, Shape<3>>(Seed{2});
  for (int i = 0; i < 3; ++i) CHECK(numbers(i) == expected(i));
  const gpu::Stream stream(1);
  CHECK(stream.where().device == 1);
  const auto streamed = second.to(stream.where());
  CHECK(streamed[0].item() == 1);

  const std::string wrong = "a copy from device 1 to device 0: expected one device; go by way of the host";
  CHECK_THROWS_WITH_AS(second.to(Cuda{0}), wrong.c_str(), ArgumentError);
  const auto first = second.to(Host{}).to(Cuda{0});
  CHECK(first[1].item() == 5);
  CHECK_THROWS_AS(gpu::OnDevice(2), ArgumentError);
  CHECK(current() == 0);
}
