// Four elements that are loaded and stored at once.
#pragma once
#include "../core/stage.hpp"

namespace kern::gpu {

/// Neighbouring channels that a thread works on.
inline constexpr int vec_size = 4;

template <class T>
struct alignas(16) Vec {
  T at[vec_size];
};
struct alignas(8) IndexVec {
  WindowIndex at[vec_size];
};

template <class T>
__device__ inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const Vec<T>*>(p);
}
__device__ inline IndexVec load(const WindowIndex* p) { return *reinterpret_cast<const IndexVec*>(p); }
template <class T>
__device__ inline void store(T* p, const Vec<T>& v) {
  *reinterpret_cast<Vec<T>*>(p) = v;
}
__device__ inline void store(WindowIndex* p, const IndexVec& v) { *reinterpret_cast<IndexVec*>(p) = v; }

}  // namespace kern::gpu
