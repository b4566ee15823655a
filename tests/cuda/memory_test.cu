#include "kern/cuda/memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kern/cuda/copy.hpp"
#include "kern/cuda/stream.hpp"

using namespace kern;

TEST_CASE_TEMPLATE("a buffer is aligned and zero, its slack included", T, float, double, std::int8_t,
                   std::int64_t) {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}}) {
    CAPTURE(n);
    {
      gpu::Buffer<T> dirty(n, Cuda{});
      gpu::fill(dirty.data(), n, T(1), Cuda{});
    }
    const gpu::Buffer<T> b(n, Cuda{});
    CHECK(b.size() == n);
    REQUIRE(b.data() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    std::vector<T> all(n + 64 / sizeof(T), T(1));
    gpu::copy_to_host(all.data(), b.data(), Cuda{}, all.size() * sizeof(T));
    for (const T x : all) REQUIRE(x == T(0));
  }
}

TEST_CASE("a buffer moves without copying") {
  gpu::Buffer<float> a(10, Cuda{});
  const float* p = a.data();
  gpu::Buffer<float> b = std::move(a);
  CHECK(b.data() == p);
  CHECK(b.size() == 10);
  CHECK(a.size() == 0);  // NOLINT: what a moved-from buffer is
  gpu::Buffer<float> c;
  CHECK(c.data() == nullptr);
  c = std::move(b);
  CHECK(c.data() == p);
  CHECK(b.size() == 0);  // NOLINT
}

TEST_CASE("memory that is not there: the error names the call, the bytes and the device, and goes away") {
  const std::size_t n = std::size_t(1) << 50;
  try {
    const gpu::Buffer<float> b(n, Cuda{});
    FAIL("4 PiB were allocated");
  } catch (const CudaError& e) {
    CHECK(e.call == "cudaMalloc(4503599627370560 bytes) on device 0");
    CHECK(e.name == "cudaErrorMemoryAllocation");
  }
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(gpu::Buffer<float>(8, Cuda{}).data() != nullptr);
}

TEST_CASE("pinned memory is zeroed host memory that copies go to and from") {
  gpu::PinnedBuffer<int> p(100);
  for (std::size_t i = 0; i < 100 + 64 / sizeof(int); ++i) REQUIRE(p.data()[i] == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(p.data()) % 64 == 0);
  const gpu::Stream s;
  gpu::Buffer<int> b(100, s.where());
  gpu::fill(b.data(), 100, 7, s.where());
  gpu::check(cudaMemcpyAsync(p.data(), b.data(), 400, cudaMemcpyDeviceToHost, s.where().stream),
             "cudaMemcpyAsync");
  s.synchronize();
  for (std::size_t i = 0; i < 100; ++i) REQUIRE(p[i] == 7);
  const gpu::PinnedBuffer<int> q = std::move(p);
  CHECK(q.size() == 100);
  CHECK(p.size() == 0);  // NOLINT
  CHECK(gpu::PinnedBuffer<double>(0).data() != nullptr);
}
