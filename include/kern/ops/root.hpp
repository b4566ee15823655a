#pragma once
#include <cmath>

#include "../core/simd.hpp"

namespace kern::ops {

// The square root of a number, or of each in a register: one instruction, where std::sqrt in a loop is a call
// for the sake of errno. Negative numbers give NaN.
KERN_HOST_DEVICE inline float root(float x) { return std::sqrt(x); }
KERN_HOST_DEVICE inline double root(double x) { return std::sqrt(x); }

namespace detail {
template <class T>
KERN_HOST_DEVICE inline vec<T> root_lanes(const vec<T>& x) {
#if defined(__CUDA_ARCH__)
  return x;  // never called there
#elif __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#elif defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
  else
    return __builtin_ia32_sqrtpd512_mask(x, x, static_cast<unsigned char>(-1), 4);
#elif defined(__AVX__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ia32_sqrtps256(x);
  else
    return __builtin_ia32_sqrtpd256(x);
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ia32_sqrtps(x);
  else
    return __builtin_ia32_sqrtpd(x);
#else
  vec<T> r;
  for (int i = 0; i < lanes<T>; ++i) r[i] = std::sqrt(x[i]);
  return r;
#endif
}
}  // namespace detail
KERN_HOST_DEVICE inline vec<float> root(const vec<float>& x) { return detail::root_lanes<float>(x); }
KERN_HOST_DEVICE inline vec<double> root(const vec<double>& x) { return detail::root_lanes<double>(x); }

}  // namespace kern::ops
