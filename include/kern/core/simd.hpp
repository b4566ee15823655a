// A register of the target, in the compilers' vector extensions: arithmetic, comparisons and `?:` work lane
// by lane.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "device_code.hpp"

namespace kern::simd {

// What the target has: the width decides layouts (channels are padded to `lanes`), the count decides tile
// sizes. A vector wider than the target's registers would be lowered to scalar code by g++.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64, register_count = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32, register_count = 16;
#elif defined(__aarch64__)
inline constexpr int register_bytes = 16, register_count = 32;
#else
inline constexpr int register_bytes = 16, register_count = 16;
#endif

/// Elements of type T in one register.
template <class T>
inline constexpr int lanes = register_bytes / int(sizeof(T));

/// What a mask has in a lane of T.
template <class T>
using mask_element = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
#ifdef __CUDA_ARCH__
// nvcc's pass for the device knows no vectors. It reads the host's code, too, only to leave it out: this
// stands in.
template <class T, int N>
struct Lanes {
  T at[N];
  using Mask = Lanes<mask_element<T>, N>;
  KERN_HOST_DEVICE T& operator[](int i) { return at[i]; }
  KERN_HOST_DEVICE T operator[](int i) const { return at[i]; }
  KERN_HOST_DEVICE explicit operator bool() const { return at[0] != 0; }
  KERN_HOST_DEVICE Lanes operator-() const { return *this; }
  // clang-format off
#define KERN_LANES(op)                                                                  \
  KERN_HOST_DEVICE friend Lanes operator op(const Lanes& a, const Lanes&) { return a; } \
  KERN_HOST_DEVICE friend Lanes operator op(const Lanes& a, T) { return a; }            \
  KERN_HOST_DEVICE friend Lanes operator op(T, const Lanes& a) { return a; }            \
  KERN_HOST_DEVICE Lanes& operator op##=(const Lanes&) { return *this; }
  KERN_LANES(+) KERN_LANES(-) KERN_LANES(*) KERN_LANES(/) KERN_LANES(|) KERN_LANES(&)
#undef KERN_LANES
#define KERN_LANES(op)                                                                    \
  KERN_HOST_DEVICE friend Mask operator op(const Lanes&, const Lanes&) { return Mask{}; } \
  KERN_HOST_DEVICE friend Mask operator op(const Lanes&, T) { return Mask{}; }            \
  KERN_HOST_DEVICE friend Mask operator op(T, const Lanes&) { return Mask{}; }
  KERN_LANES(<) KERN_LANES(<=) KERN_LANES(>) KERN_LANES(>=) KERN_LANES(==) KERN_LANES(!=)
#undef KERN_LANES
  // clang-format on
};
template <class T>
struct VecOf {
  using type = Lanes<T, register_bytes / int(sizeof(T))>;
};
#else
template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(register_bytes)));
};
#endif

/// A register of T.
template <class T>
using vec = typename VecOf<T>::type;
/// What comparing two vec<T> gives: all bits set in the lanes where it holds. Also a register of integers as
/// wide as T.
template <class T>
using mask = typename VecOf<mask_element<T>>::type;

template <class T>
inline vec<T> load(const T* p) {
  vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, const vec<T>& v) {
  __builtin_memcpy(p, &v, sizeof v);
}
/// x in every lane. Not `vec{} + x`: 0 + -0 is 0, so the compiler must keep that addition; x - 0 is x.
template <class T>
inline vec<T> splat(T x) {
  return x - vec<T>{};
}

/// a * b + c, rounded once where the target has such an instruction. Said in so many words, because whether a
/// compiler makes one of `a * b + c` is its own choice: g++ tuned for Zen or newer Intel CPUs leaves some
/// chains of them apart, which costs speed and makes a result depend on the loop that it stood in.
template <class T>
inline vec<T> fma(const vec<T>& a, const vec<T>& b, const vec<T>& c) {
#if defined(__CUDA_ARCH__) || (!defined(__FMA__) && !defined(__AVX512F__) && !defined(__aarch64__))
  return a * b + c;
#elif __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
  else
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, static_cast<unsigned char>(-1), 4);
#elif defined(__AVX__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ia32_vfmaddps256(a, b, c);
  else
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
  return a * b + c;
#endif
}

/// v, in a register from here on: g++ likes to load it anew for every use instead.
template <class T>
inline vec<T> hold(vec<T> v) {
#if defined(__CUDA_ARCH__)
#elif defined(__x86_64__) || defined(__i386__)
  asm("" : "+v"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

template <class T, int S>
inline void swap_blocks([[maybe_unused]] vec<T> (&r)[lanes<T>]) {
#ifndef __CUDA_ARCH__
  constexpr int L = lanes<T>;
  for (int i = 0; i < L; ++i)
    if (!(i & S))
      [&]<int... J>(std::integer_sequence<int, J...>) {
        const vec<T> a = r[i], b = r[i + S];
#ifdef __clang__
        r[i] = __builtin_shufflevector(a, b, (J & S ? L + J - S : J)...);
        r[i + S] = __builtin_shufflevector(a, b, (J & S ? L + J : J + S)...);
#else
        r[i] = __builtin_shuffle(a, b, mask<T>{(J & S ? L + J - S : J)...});
        r[i + S] = __builtin_shuffle(a, b, mask<T>{(J & S ? L + J : J + S)...});
#endif
      }(std::make_integer_sequence<int, L>{});
  if constexpr (S > 1) swap_blocks<T, S / 2>(r);
#endif
}

/// r[i][j] -> r[j][i].
template <class T>
inline void transpose(vec<T> (&r)[lanes<T>]) {
  swap_blocks<T, lanes<T> / 2>(r);
}

}  // namespace kern::simd

// Those who compute with registers.
namespace kern::ops {
using namespace simd;
}
namespace kern::host {
using namespace simd;
}
namespace kern::math {
using namespace simd;
}
