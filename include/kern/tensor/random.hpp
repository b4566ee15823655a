// Tensors of random numbers: functions of the seed and an element's number alone, the same on every machine.
#pragma once
#include <bit>
#include <cmath>

#include "../core/philox.hpp"
#include "tensor.hpp"

namespace kern {

namespace detail {
/// What a block of Stream::tensor is for: rand and randn of one seed share no numbers.
enum class TensorDraw : std::uint32_t { uniform = 0, normal = 1, uniform53 = 2 };

KERN_HOST_DEVICE inline rng::Block tensor_block(Seed seed, TensorDraw what, std::size_t group) {
  return rng::draw(seed, rng::Stream::tensor, std::uint32_t(what), std::uint32_t(std::uint64_t(group) >> 32),
                   std::uint32_t(group));
}

/// Four numbers uniform in [0, 1), with 24 bits each: elements 4 * group .. 4 * group + 3 of the sequence of
/// `seed`.
inline std::array<double, 4> uniform_block(Seed seed, std::size_t group) {
  const auto r = tensor_block(seed, TensorDraw::uniform, group);
  return {double(r[0] >> 8) * 0x1p-24, double(r[1] >> 8) * 0x1p-24, double(r[2] >> 8) * 0x1p-24,
          double(r[3] >> 8) * 0x1p-24};
}

// Logarithm, cosine and sine from additions, divisions, square roots and fused multiply-adds alone, which
// IEEE 754 rounds the same everywhere; those of the C library differ between machines in the last bit. Each
// product that is added to something is an explicit fma: no compiler has one left to contract.

/// ln of (2 r + 1) / 2^33, in (0, 1).
inline double log_of_bits(std::uint32_t r) {
  const auto bits = std::bit_cast<std::uint64_t>(double(2 * std::uint64_t(r) + 1));  // exact: 33 bits
  int exponent = int(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);  // in [1, 2)
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // ln m = 2 atanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 1.0 / 23;
  for (int k = 21; k >= 1; k -= 2) sum = std::fma(sum, square, 1.0 / k);
  const double ln_m = 2 * s * sum;
  return std::fma(double(exponent - 33), 0.6931471805599453, ln_m);
}

/// cos and sin of 2 pi r / 2^32: r's upper three bits are the octant, the others the angle in it.
inline std::array<double, 2> cos_sin_of_bits(std::uint32_t r) {
  constexpr std::uint32_t octant = 1u << 29;
  const std::uint32_t q = r >> 29, rest = r & (octant - 1);
  const double angle = double(q % 2 ? octant - rest : rest) * 0x1p-29 * 0.7853981633974483;  // to pi / 4
  const double square = angle * angle;
  double c = 1, s = 1;  // Taylor: 1 - x^2 / (1 * 2) * (1 - x^2 / (3 * 4) * (...))
  for (int k = 17; k >= 1; k -= 2) {
    c = std::fma(-square / (k * (k + 1)), c, 1.0);
    s = std::fma(-square / ((k + 1) * (k + 2)), s, 1.0);
  }
  s *= angle;
  const bool swap = (q + 1) / 2 % 2 == 1;  // nearer to the sine's axis
  const double x = swap ? s : c, y = swap ? c : s;
  return {q >= 2 && q < 6 ? -x : x, q >= 4 ? -y : y};
}

/// Four numbers of the normal distribution.
inline std::array<double, 4> normal_of(const rng::Block& r) {
  std::array<double, 4> z;
  for (std::size_t i = 0; i < 4; i += 2) {
    const double radius = std::sqrt(-2 * log_of_bits(r[i]));
    const auto [c, s] = cos_sin_of_bits(r[i + 1]);
    z[i] = radius * c;
    z[i + 1] = radius * s;
  }
  return z;
}

/// Elements 4 * group .. 4 * group + 3.
inline std::array<double, 4> normal_block(Seed seed, std::size_t group) {
  return normal_of(tensor_block(seed, TensorDraw::normal, group));
}

/// elements[i] = block(i / N)[i % N].
template <std::size_t N, class T, class Block>
void fill_by_blocks(T* elements, std::size_t count, Block block) {
  for (std::size_t group = 0; group * N < count; ++group) {
    const auto values = block(group);
    for (std::size_t i = 0; i < N && group * N + i < count; ++i) elements[group * N + i] = T(values[i]);
  }
}
}  // namespace detail

/// Elements uniform in [0, 1): rand<float, Shape<dyn, 3>>(Seed{0}, n), dyn extents behind the seed. With
/// block(use, g) = rng::draw(seed, Stream::tensor, use, g >> 32, g mod 2^32), four 32-bit numbers, element
/// i is
///   float:  (block(0, i / 4)[i % 4] >> 8) / 2^24
///   double: (b[0] * 2^21 + (b[1] >> 11)) / 2^53,  b = the numbers 2 (i % 2) and the next of block(2, i / 2)
template <class T, class S, class... N>
  requires detail::DynExtentsOf<S, N...>
Tensor<T, S> rand(Seed seed, N... n) {
  static_assert(std::is_floating_point_v<T>, "rand makes float or double");
  Tensor<T, S> t(n...);
  if constexpr (std::is_same_v<T, float>)
    detail::fill_by_blocks<4>(t.data(), t.size(),
                              [&](std::size_t group) { return detail::uniform_block(seed, group); });
  else
    detail::fill_by_blocks<2>(t.data(), t.size(), [&](std::size_t group) {
      const auto r = detail::tensor_block(seed, detail::TensorDraw::uniform53, group);
      const auto join = [](std::uint32_t high, std::uint32_t low) {
        return double(std::uint64_t(high) << 21 | low >> 11) * 0x1p-53;
      };
      return std::array<double, 2>{join(r[0], r[1]), join(r[2], r[3])};
    });
  return t;
}

/// Elements of the normal distribution with mean 0 and deviation 1, by Box and Muller's transform. With
/// block(1, g) as above and r = block(1, i / 4), p = i % 4 rounded down to even, element i is
///   sqrt(-2 ln((2 r[p] + 1) / 2^33)) * cos(2 pi r[p + 1] / 2^32)     for even i
///   sqrt(-2 ln((2 r[p] + 1) / 2^33)) * sin(2 pi r[p + 1] / 2^32)     for odd i
/// computed in double: float elements are the double ones, rounded. |element| < 6.77.
template <class T, class S, class... N>
  requires detail::DynExtentsOf<S, N...>
Tensor<T, S> randn(Seed seed, N... n) {
  static_assert(std::is_floating_point_v<T>, "randn makes float or double");
  Tensor<T, S> t(n...);
  detail::fill_by_blocks<4>(t.data(), t.size(),
                            [&](std::size_t group) { return detail::normal_block(seed, group); });
  return t;
}

}  // namespace kern
