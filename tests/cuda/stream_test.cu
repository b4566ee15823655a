#include "kern/cuda/stream.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "kern/cuda/copy.hpp"
#include "kern/cuda/memory.hpp"

using namespace kern;

TEST_CASE("a stream moves; what was moved from is the default stream") {
  gpu::Stream a;
  const Cuda where = a.where();
  CHECK(where.stream != nullptr);
  gpu::Stream b = std::move(a);
  CHECK(b.where() == where);
  gpu::Stream c;
  c = std::move(b);
  CHECK(c.where() == where);
  c.synchronize();
}

TEST_CASE("one stream waits for another") {
  const gpu::Stream first, then;
  gpu::Buffer<int> b(1000, first.where());
  for (int round = 1; round <= 20; ++round) {
    gpu::fill(b.data(), 1000, round, first.where());
    gpu::order(first.where(), then.where());
    int last = 0;
    gpu::copy_to_host(&last, b.data() + 999, then.where(), sizeof last);
    REQUIRE(last == round);
  }
  CHECK_NOTHROW(gpu::order(then.where(), then.where()));
}

TEST_CASE("events keep time") {
  gpu::Event start(0, gpu::Event::Timing::on), end(0, gpu::Event::Timing::on);
  start.record(Cuda{});
  gpu::Buffer<int> b(1000, Cuda{});
  gpu::fill(b.data(), 1000, 3, Cuda{});
  end.record(Cuda{});
  end.synchronize();
  CHECK(gpu::milliseconds(start, end) >= 0);
  const gpu::Event moved = std::move(end);
  CHECK(gpu::milliseconds(start, moved) >= 0);
  // Events that keep no time say so.
  gpu::Event plain;
  plain.record(Cuda{});
  plain.synchronize();
  CHECK_THROWS_WITH_AS(gpu::milliseconds(start, plain), doctest::Contains("cudaEventElapsedTime: "),
                       CudaError);
}

TEST_CASE("a device that there is not: both numbers, and the current device stays") {
  int count = 0, before = -1, after = -2;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  REQUIRE(cudaGetDevice(&before) == cudaSuccess);
  for (const int device : {count, count + 5, -1}) {
    CAPTURE(device);
    const std::string expected = text("Device ", device, " was asked for; expected 0 to ", count - 1,
                                      ": there ", count == 1 ? "is " : "are ", count, ".");
    CHECK_THROWS_WITH_AS(gpu::OnDevice{device}, expected.c_str(), ArgumentError);
    CHECK_THROWS_AS(gpu::Stream{device}, ArgumentError);
    CHECK_THROWS_AS((gpu::Buffer<float>(3, Cuda{device})), ArgumentError);
  }
  REQUIRE(cudaGetDevice(&after) == cudaSuccess);
  CHECK(after == before);
  CHECK(cudaGetLastError() == cudaSuccess);
}
