// Copies of bytes between the host and a device, and filling.
#pragma once
#ifdef __CUDACC__
#include <bit>
#include <cstdint>
#include <type_traits>

#include "../core/error.hpp"
#include "launch.cuh"
#include "stream.hpp"

namespace kern::gpu {

/// Returns when the bytes are on the device: the host's may be changed then.
inline void copy_to_device(void* to, const Cuda& where, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice on(where);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, where.stream), "cudaMemcpyAsync(", bytes,
        " bytes, host to device ", where.device, ")");
  synchronize(where);
}

/// Returns when the bytes are here.
inline void copy_to_host(void* to, const void* from, const Cuda& where, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice on(where);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, where.stream), "cudaMemcpyAsync(", bytes,
        " bytes, device ", where.device, " to host)");
  synchronize(where);
}

/// In the order of both streams; nothing waits here. Throws ArgumentError for two devices.
inline void copy_on_device(void* to, const Cuda& to_where, const void* from, const Cuda& from_where,
                           std::size_t bytes) {
  if (to_where.device != from_where.device)
    throw ArgumentError(text("a copy from device ", from_where.device, " to device ", to_where.device,
                             ": expected one device; go by way of the host"));
  if (bytes == 0) return;
  order(from_where, to_where);
  {
    const OnDevice on(to_where);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, to_where.stream), "cudaMemcpyAsync(",
          bytes, " bytes, on device ", to_where.device, ")");
  }
  order(to_where, from_where);
}

template <class Bits>
__global__ void fill_kernel(Bits* elements, Bits value, std::size_t n) {
  for_each(n, [=](std::size_t i) { elements[i] = value; });
}

/// Every element = value, in the order of the stream.
template <class T>
void fill(T* elements, std::size_t n, T value, const Cuda& where) {
  if (n == 0) return;
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  static_assert(sizeof(T) == sizeof(Bits));
  const Bits bits = std::bit_cast<Bits>(value);
  if (sizeof(T) == 1 || bits == 0) {
    const OnDevice on(where);
    check(cudaMemsetAsync(elements, int(bits), n * sizeof(T), where.stream), "cudaMemsetAsync(",
          n * sizeof(T), " bytes) on device ", where.device);
  } else {
    launch("fill", fill_kernel<Bits>, grid_for(n), where, reinterpret_cast<Bits*>(elements), bits, n);
  }
}

}  // namespace kern::gpu
#endif
