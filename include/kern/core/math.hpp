// exp, tanh and erf of a number or of a register of them: for pointwise ops, which are written once for both.
// On registers of float they are polynomials, off by at most 2 units in the last place
// (tests/core/math_test.cpp has all floats of a range); on other registers the standard library's, lane by
// lane. Infinities and NaN are the standard library's.
//
// The coefficients are those of the Cephes library (S. L. Moshier, netlib.org/cephes), single precision.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "simd.hpp"

namespace kern::simd {

template <class V>
struct ElementOf {
  using type = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
};
template <>
struct ElementOf<float> {
  using type = float;
};
template <>
struct ElementOf<double> {
  using type = double;
};

/// T of a T or of a vec<T>.
template <class V>
using element_of = typename ElementOf<V>::type;

}  // namespace kern::simd

namespace kern::math {
namespace detail {
#ifndef __CUDA_ARCH__

/// c[0] x^n + c[1] x^(n - 1) + ... + c[n].
template <std::size_t N>
inline vec<float> polynomial(const vec<float>& x, const float (&c)[N]) {
  vec<float> sum = splat(c[0]);
  for (std::size_t i = 1; i < N; ++i) sum = fma<float>(sum, x, splat(c[i]));
  return sum;
}
/// To the same bits.
template <class To, class From>
inline To same_bits(const From& v) {
  To to;
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}
template <class V, class F>
inline V lane_by_lane(V x, F f) {
  for (int i = 0; i < int(sizeof(V) / sizeof(element_of<V>)); ++i) x[i] = f(x[i]);
  return x;
}
inline vec<float> magnitude(const vec<float>& x) {
  return same_bits<vec<float>>(same_bits<mask<float>>(x) & (mask<float>{} + 0x7fffffff));
}
/// x's magnitude with the sign of `sign`.
inline vec<float> with_sign(const vec<float>& x, const vec<float>& sign) {
  const mask<float> bit = mask<float>{} + INT32_MIN;
  return same_bits<vec<float>>(same_bits<mask<float>>(x) | (same_bits<mask<float>>(sign) & bit));
}

inline vec<float> exp_register(const vec<float>& x) {
  // x = n ln 2 + r, |r| <= ln 2 / 2; n to the nearest by the rounding of an addition.
  const vec<float> shift = splat(12582912.0f);  // 1.5 * 2^23
  const vec<float> low = splat(-104.0f), high = splat(89.0f);
  vec<float> in = x < low ? low : x;
  in = in > high ? high : in;
  const vec<float> n = fma<float>(in, splat(1.44269504088896341f), shift) - shift;
  vec<float> r = fma<float>(n, splat(-0.693359375f), in);
  r = fma<float>(n, splat(2.12194440e-4f), r);
  const vec<float> p = polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                      1.6666665459e-1f, 5.0000001201e-1f});
  const vec<float> e = fma<float>(p * r, r, r) + 1;
  // * 2^n in two steps: one alone can't reach the smallest and largest results.
  const mask<float> whole = same_bits<mask<float>>(n + shift) - same_bits<mask<float>>(shift);
  const mask<float> half = whole >> 1, rest = whole - half;
  const auto power = [](const mask<float>& k) { return same_bits<vec<float>>((k + 127) << 23); };
  return x != x ? x : e * power(half) * power(rest);
}
inline vec<float> tanh_register(const vec<float>& x) {
  const vec<float> a = magnitude(x), z = x * x;
  const vec<float> small =
      fma<float>(polynomial(z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                                -3.33332819422e-1f}) *
                     z,
                 x, x);
  const vec<float> large = 1 - 2 / (exp_register(a + a) + 1);
  return x != x ? x : with_sign(a < 0.625f ? small : large, x);
}
inline vec<float> erf_register(const vec<float>& x) {
  const vec<float> a = magnitude(x), z = x * x;
  const vec<float> small =
      x * polynomial(z, {7.853861353153693E-5f, -8.010193625184903E-4f, 5.188327685732524E-3f,
                         -2.685381193529856E-2f, 1.128358514861418E-1f, -3.761262582423300E-1f,
                         1.128379165726710E+0f});
  const vec<float> one = splat(1.0f), b = a > one ? a : one;  // where it counts
  const vec<float> q = 1 / b, y = q * q;
  const vec<float> near =
      polynomial(y, {2.326819970068386E-2f, -1.387039388740657E-1f, 3.687424674597105E-1f,
                     -5.824733027278666E-1f, 6.210004621745983E-1f, -4.944515323274145E-1f,
                     3.404879937665872E-1f, -2.741127028184656E-1f, 5.638259427386472E-1f});
  const vec<float> far = polynomial(
      y, {-1.047766399936249E+1f, 1.297719955372516E+1f, -7.495518717768503E+0f, 2.921019019210786E+0f,
          -1.015265279202700E+0f, 4.218463358204948E-1f, -2.820767439740514E-1f, 5.641895067754075E-1f});
  const vec<float> large = 1 - exp_register(-b * b) * q * (b < 2.0f ? near : far);
  return a < 1.0f ? small : x != x ? x : with_sign(large, x);
}

#endif
}  // namespace detail

/// A float, a double or a register of them.
template <class V>
concept Number =
    std::is_floating_point_v<V> || std::is_same_v<V, vec<float>> || std::is_same_v<V, vec<double>>;

template <Number V>
KERN_HOST_DEVICE V exp(const V& x) {
  if constexpr (std::is_floating_point_v<V>) return std::exp(x);
#ifndef __CUDA_ARCH__
  else if constexpr (std::is_same_v<V, vec<float>>)
    return detail::exp_register(x);
  else
    return detail::lane_by_lane(x, [](auto e) { return std::exp(e); });
#else
  else
    return x;
#endif
}
template <Number V>
KERN_HOST_DEVICE V tanh(const V& x) {
  if constexpr (std::is_floating_point_v<V>) return std::tanh(x);
#ifndef __CUDA_ARCH__
  else if constexpr (std::is_same_v<V, vec<float>>)
    return detail::tanh_register(x);
  else
    return detail::lane_by_lane(x, [](auto e) { return std::tanh(e); });
#else
  else
    return x;
#endif
}
template <Number V>
KERN_HOST_DEVICE V erf(const V& x) {
  if constexpr (std::is_floating_point_v<V>) return std::erf(x);
#ifndef __CUDA_ARCH__
  else if constexpr (std::is_same_v<V, vec<float>>)
    return detail::erf_register(x);
  else
    return detail::lane_by_lane(x, [](auto e) { return std::erf(e); });
#else
  else
    return x;
#endif
}
/// exp(x) - 1, exact for small x, too.
template <Number V>
KERN_HOST_DEVICE V expm1(const V& x) {
  if constexpr (std::is_floating_point_v<V>)
    return std::expm1(x);
  else
    return math::tanh(x / 2) * (math::exp(x) + 1);
}
/// 1 / (1 + exp(-x)).
template <Number V>
KERN_HOST_DEVICE V sigmoid(const V& x) {
  return 1 / (1 + math::exp(-x));
}

}  // namespace kern::math
