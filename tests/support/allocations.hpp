// Counts what operator new gives out, of the whole program: include it in one file of a test.
#pragma once
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // both sides are replaced here
#endif
#include <atomic>
#include <cstdlib>
#include <new>

namespace kern::testing {
inline std::atomic<long> allocations{0};
inline void* allocate(std::size_t n, std::size_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace kern::testing

void* operator new(std::size_t n) { return kern::testing::allocate(n ? n : 1, 16); }
void* operator new[](std::size_t n) { return kern::testing::allocate(n ? n : 1, 16); }
void* operator new(std::size_t n, std::align_val_t a) {
  return kern::testing::allocate(n ? n : 1, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return kern::testing::allocate(n ? n : 1, std::size_t(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
