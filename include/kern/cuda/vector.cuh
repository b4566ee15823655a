// Four elements that are loaded and stored at once, and where a block keeps them.
#pragma once
#include "../core/stage.hpp"
#include "step_block.cuh"

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

// In CUDA's own types: of a struct the compiler may make four accesses.
__device__ inline Vec<float> load(const float* p) {
  const float4 v = *reinterpret_cast<const float4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}
__device__ inline Vec<double> load(const double* p) {
  const double2 v = *reinterpret_cast<const double2*>(p), w = *reinterpret_cast<const double2*>(p + 2);
  return {{v.x, v.y, w.x, w.y}};
}
__device__ inline IndexVec load(const WindowIndex* p) {
  const short4 v = *reinterpret_cast<const short4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}

// To shared memory, and below to global memory, by instructions that the compiler leaves whole: of what comes
// from a branch it makes four stores, which fall on the same banks.
__device__ inline void store(float* p, const Vec<float>& v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(unsigned(__cvta_generic_to_shared(p))),
               "f"(v.at[0]), "f"(v.at[1]), "f"(v.at[2]), "f"(v.at[3])
               : "memory");
}
__device__ inline void store(double* p, const Vec<double>& v) {
  asm volatile("st.shared.v2.f64 [%0], {%1, %2}; st.shared.v2.f64 [%0 + 16], {%3, %4};" ::"r"(
                   unsigned(__cvta_generic_to_shared(p))),
               "d"(v.at[0]), "d"(v.at[1]), "d"(v.at[2]), "d"(v.at[3])
               : "memory");
}

__device__ inline void put(float* p, const Vec<float>& v) {
  __stwb(reinterpret_cast<float4*>(p), float4{v.at[0], v.at[1], v.at[2], v.at[3]});
}
__device__ inline void put(double* p, const Vec<double>& v) {
  __stwb(reinterpret_cast<double2*>(p), double2{v.at[0], v.at[1]});
  __stwb(reinterpret_cast<double2*>(p + 2), double2{v.at[2], v.at[3]});
}
__device__ inline void put(WindowIndex* p, const IndexVec& v) {
  __stwb(reinterpret_cast<short4*>(p), short4{v.at[0], v.at[1], v.at[2], v.at[3]});
}

/// The shared memory that a block was started with.
template <class T>
__device__ T* block_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}

}  // namespace kern::gpu
