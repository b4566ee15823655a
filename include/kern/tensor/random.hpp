// Tensors of random numbers.
#pragma once
#include <cmath>
#include <numbers>

#include "../core/philox.hpp"
#include "tensor.hpp"

namespace kern {

namespace detail {
/// Four numbers uniform in [0, 1), with 24 bits each: elements 4 * group .. 4 * group + 3 of the sequence of
/// `seed`.
inline std::array<double, 4> uniform_block(Seed seed, std::size_t group) {
  const auto r = random::draw(seed, random::Stream::tensor, 0, std::uint32_t(std::uint64_t(group) >> 32),
                              std::uint32_t(group));
  return {double(r[0] >> 8) * 0x1p-24, double(r[1] >> 8) * 0x1p-24, double(r[2] >> 8) * 0x1p-24,
          double(r[3] >> 8) * 0x1p-24};
}
}  // namespace detail

/// Elements uniform in [0, 1): element i is number i % 4 of Philox block i / 4 of `seed`, its top 24 bits, so
/// it is the same on every machine. dyn extents behind the seed: rand<float, Shape<dyn, 3>>(Seed{0}, n).
template <class T, class S, std::convertible_to<int>... N>
Tensor<T, S> rand(Seed seed, N... n) {
  static_assert(std::is_floating_point_v<T>, "rand makes float or double");
  Tensor<T, S> t(n...);
  for (std::size_t i = 0; i < t.size(); ++i) t.data()[i] = T(detail::uniform_block(seed, i / 4)[i % 4]);
  return t;
}

/// Elements of the normal distribution with mean 0 and deviation 1, by Box and Muller's transform in double:
///   r = sqrt(-2 ln(1 - u0)),  r cos(2 pi u1),  r sin(2 pi u1)
/// of the block's numbers u0, u1 and u2, u3. Machines may differ in the last bit of a double, as their ln,
/// cos and sin do.
template <class T, class S, std::convertible_to<int>... N>
Tensor<T, S> randn(Seed seed, N... n) {
  static_assert(std::is_floating_point_v<T>, "randn makes float or double");
  Tensor<T, S> t(n...);
  for (std::size_t i = 0; i < t.size(); ++i) {
    const auto u = detail::uniform_block(seed, i / 4);
    const std::size_t pair = i % 4 / 2 * 2;
    const double r = std::sqrt(-2 * std::log(1 - u[pair])), angle = 2 * std::numbers::pi * u[pair + 1];
    t.data()[i] = T(r * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
  return t;
}

}  // namespace kern
