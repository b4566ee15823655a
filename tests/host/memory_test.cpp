#include "kern/host/memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

using namespace kern;

namespace {
template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}
}  // namespace

TEST_CASE_TEMPLATE("a buffer is aligned to 64 bytes and zero, its slack included", T, float, double,
                   std::int8_t, std::int64_t) {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}}) {
    CAPTURE(n);
    // Dirty memory of the same size first, which the allocator is likely to hand out again.
    {
      host::Buffer<T> dirty(n);
      for (std::size_t i = 0; i < n; ++i) dirty[i] = T(1);
    }
    const host::Buffer<T> b(n);
    CHECK(b.size() == n);
    CHECK(is_aligned(b.data()));
    for (std::size_t i = 0; i < n + 64 / sizeof(T); ++i) REQUIRE(b.data()[i] == T(0));
  }
}

TEST_CASE("a buffer moves without copying") {
  host::Buffer<float> a(10);
  a[3] = 4;
  const float* p = a.data();
  host::Buffer<float> b = std::move(a);
  CHECK(b.data() == p);
  CHECK(b.size() == 10);
  CHECK(b[3] == 4);
  CHECK(a.size() == 0);  // NOLINT: what a moved-from buffer is
  host::Buffer<float> c;
  CHECK(c.data() == nullptr);
  CHECK(c.size() == 0);
  c = std::move(b);
  CHECK(c.data() == p);
  CHECK(c.size() == 10);
  CHECK(b.size() == 0);  // NOLINT
}
