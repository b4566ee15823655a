// rand and randn on the device are the host's to the bit; these, tests/tensor/random_test.cpp compares with
// exact arithmetic.
#include "kern/cuda/random.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace kern;

namespace {
template <class T, class S>
bool same_bits(const Tensor<T, S, Cuda>& device, const Tensor<T, S>& host) {
  const auto t = device.to(Host{});
  return t.shape() == host.shape() &&
         (t.size() == 0 || std::memcmp(t.data(), host.data(), t.size() * sizeof(T)) == 0);
}
using Line = Shape<dyn>;
}  // namespace

TEST_CASE_TEMPLATE("the host's bits, for any number of elements", T, float, double) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{7}, 0x123456789ABCDEFu + (std::uint64_t{1} << 63)})
    for (const int n : {0, 1, 2, 3, 4, 5, 127, 1023, 1024, 1025, 20000}) {
      CAPTURE(seed);
      CAPTURE(n);
      const Seed s{seed};
      CHECK(same_bits(rand<T, Line>(s, Cuda{}, n), rand<T, Line>(s, n)));
      CHECK(same_bits(randn<T, Line>(s, Cuda{}, n), randn<T, Line>(s, n)));
    }
}

TEST_CASE("an element depends on its number alone, not on the shape; the slack stays zero") {
  const auto cube = randn<float, Shape<2, dyn, 3>>(Seed{3}, Cuda{}, 3);
  CHECK(same_bits(cube, randn<float, Shape<2, dyn, 3>>(Seed{3}, 3)));
  float slack[16];
  gpu::copy_to_host(slack, cube.data().get() + cube.size(), Cuda{}, sizeof slack);
  for (const float x : slack) CHECK(x == 0);
}

TEST_CASE("on a stream of its own") {
  const gpu::Stream s;
  CHECK(same_bits(rand<float, Shape<4, 5>>(Seed{1}, s.where()), rand<float, Shape<4, 5>>(Seed{1})));
}
