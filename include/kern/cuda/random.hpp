// Tensors of random numbers, made on the device: the same bits as those that tensor/random.hpp makes on the
// host.
#pragma once
#include "../tensor/random.hpp"
#include "tensor.hpp"

#ifdef __CUDACC__
namespace kern {

namespace gpu {

// The host's logarithm, cosine and sine, operation for operation. IEEE 754 rounds each the same everywhere,
// and what is added to a product is an explicit fma: so the bits are the host's.

__device__ inline double log_of_bits(std::uint32_t r) {
  const auto bits = std::uint64_t(__double_as_longlong(double(2 * std::uint64_t(r) + 1)));
  int exponent = int(bits >> 52) - 1023;
  double m = __longlong_as_double(static_cast<long long>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 1.0 / 23;
#pragma unroll
  for (int k = 21; k >= 1; k -= 2) sum = ::fma(sum, square, 1.0 / k);
  const double ln_m = 2 * s * sum;
  return ::fma(double(exponent - 33), 0.6931471805599453, ln_m);
}

__device__ inline double2 cos_sin_of_bits(std::uint32_t r) {
  constexpr std::uint32_t octant = 1u << 29;
  const std::uint32_t q = r >> 29, rest = r & (octant - 1);
  const double angle = double(q % 2 ? octant - rest : rest) * 0x1p-29 * 0.7853981633974483;
  const double square = angle * angle;
  double c = 1, s = 1;
#pragma unroll
  for (int k = 17; k >= 1; k -= 2) {
    c = ::fma(-square / (k * (k + 1)), c, 1.0);
    s = ::fma(-square / ((k + 1) * (k + 2)), s, 1.0);
  }
  s *= angle;
  const bool swap = (q + 1) / 2 % 2 == 1;
  const double x = swap ? s : c, y = swap ? c : s;
  return make_double2(q >= 2 && q < 6 ? -x : x, q >= 4 ? -y : y);
}

// Kernels of one thread for each block of four random numbers.
template <class T>
__global__ void uniform_kernel(T* elements, std::size_t n, Seed seed) {
  if constexpr (sizeof(T) == 4) {
    for_each((n + 3) / 4, [=](std::size_t group) {
      const rng::Block bits = kern::detail::tensor_block(seed, detail::TensorDraw::uniform, group);
      for (std::size_t i = 0; i < 4 && group * 4 + i < n; ++i)
        elements[group * 4 + i] = rng::uniform(bits[i]);
    });
  } else {
    for_each((n + 1) / 2, [=](std::size_t group) {
      const rng::Block r = kern::detail::tensor_block(seed, detail::TensorDraw::uniform53, group);
      const auto join = [](unsigned high, unsigned low) {
        return double(std::uint64_t(high) << 21 | low >> 11) * 0x1p-53;
      };
      elements[group * 2] = join(r[0], r[1]);
      if (group * 2 + 1 < n) elements[group * 2 + 1] = join(r[2], r[3]);
    });
  }
}

template <class T>
__global__ void normal_kernel(T* elements, std::size_t n, Seed seed) {
  for_each((n + 3) / 4, [=](std::size_t group) {
    const rng::Block bits = kern::detail::tensor_block(seed, detail::TensorDraw::normal, group);
    for (std::size_t i = 0; i < 4 && group * 4 + i < n; i += 2) {
      const double radius = sqrt(-2 * log_of_bits(bits[i]));
      const double2 z = cos_sin_of_bits(bits[i + 1]);
      elements[group * 4 + i] = T(radius * z.x);
      if (group * 4 + i + 1 < n) elements[group * 4 + i + 1] = T(radius * z.y);
    }
  });
}

}  // namespace gpu

/// As the host's rand, on a device: rand<float, Shape<dyn, 3>>(Seed{0}, Cuda{0}, n).
template <class T, class S, class... N>
  requires detail::DynExtentsOf<S, N...>
Tensor<T, S, Cuda> rand(Seed seed, const Cuda& where, N... n) {
  static_assert(std::is_floating_point_v<T>, "rand makes float or double");
  auto t = Tensor<T, S, Cuda>::zeros(where, n...);
  constexpr std::size_t together = sizeof(T) == 4 ? 4 : 2;
  if (t.size())
    gpu::launch("uniform", gpu::uniform_kernel<T>, gpu::grid_for((t.size() + together - 1) / together), where,
                t.data().get(), t.size(), seed);
  return t;
}

/// As the host's randn, on a device.
template <class T, class S, class... N>
  requires detail::DynExtentsOf<S, N...>
Tensor<T, S, Cuda> randn(Seed seed, const Cuda& where, N... n) {
  static_assert(std::is_floating_point_v<T>, "randn makes float or double");
  auto t = Tensor<T, S, Cuda>::zeros(where, n...);
  if (t.size())
    gpu::launch("normal", gpu::normal_kernel<T>, gpu::grid_for((t.size() + 3) / 4), where, t.data().get(),
                t.size(), seed);
  return t;
}

}  // namespace kern
#endif
