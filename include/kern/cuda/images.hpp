// What a program was compiled for, as its own file says.
//
// nvcc tells the host's code the architectures (__CUDA_ARCH_LIST__), but not which of them have machine code
// and which PTX. That stands in the fat binary inside the program. Its wrapper is described in the toolkit's
// fatbinary_section.h; its header and the heads of its entries are not published, but the same from CUDA 11
// to 13 at least, and anything unknown is passed over.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#if defined(__CUDACC__) && defined(__linux__)
#include <link.h>
#endif

#include "doctor.hpp"

namespace kern::gpu {

/// The images of the fat binary at `start`, of which `size` bytes may be read; none if it isn't one.
inline std::vector<CudaImage> fat_binary_images(const char* start, std::size_t size) {
  const auto read = [&]<class N>(std::size_t at, N) {
    N n;
    std::memcpy(&n, start + at, sizeof n);
    return n;
  };
  constexpr std::size_t entry_head = 64;
  std::vector<CudaImage> images;
  if (size < 16 || read(0, std::uint32_t{}) != 0xBA55ED50) return images;
  std::size_t at = read(6, std::uint16_t{});
  const std::size_t end = std::min<std::uint64_t>(size, at + read(8, std::uint64_t{}));
  while (at + entry_head <= end) {
    const auto kind = read(at, std::uint16_t{});
    const std::uint64_t head = read(at + 4, std::uint32_t{}), body = read(at + 8, std::uint64_t{});
    const auto flags = read(at + 40, std::uint64_t{});
    if (kind == 1 || kind == 2) {
      CudaImage image{kind == 1, int(read(at + 28, std::uint32_t{}))};
      if (flags & 0x100000) image.suffix = 'a';
      if (flags & 0x200000) image.suffix = 'f';
      if (image.ptx) image.isa = read(at + 26, std::uint16_t{}) * 10 + read(at + 24, std::uint16_t{});
      images.push_back(image);
    }
    if (head == 0 || body > end - at) break;
    at += head + body;
  }
  return images;
}

/// Each once, machine code first, by architecture.
inline void sort_images(std::vector<CudaImage>& images) {
  std::sort(images.begin(), images.end(), [](const CudaImage& a, const CudaImage& b) {
    return std::tie(a.ptx, a.architecture, a.suffix, a.isa) <
           std::tie(b.ptx, b.architecture, b.suffix, b.isa);
  });
  images.erase(std::unique(images.begin(), images.end()), images.end());
}

#ifdef __CUDACC__
inline namespace with_cuda {

/// What the program or library that this function stands in was compiled for. Where its file can't be read,
/// the architectures nvcc names, as machine code, and the newest also as PTX.
inline std::vector<CudaImage> compiled_images() {
  std::vector<CudaImage> images;
#ifdef __linux__
  static const char here = 0;
  const auto look = [&images](const dl_phdr_info& object) {
    const auto holds = [&](std::uintptr_t p, const ElfW(Phdr) & part) {
      const std::uintptr_t start = object.dlpi_addr + part.p_vaddr;
      return part.p_type == PT_LOAD && p >= start && p < start + part.p_memsz;
    };
    const auto* parts = object.dlpi_phdr;
    const auto* parts_end = parts + object.dlpi_phnum;
    const auto part_of = [&](std::uintptr_t p) {
      return std::find_if(parts, parts_end, [&](const auto& part) { return holds(p, part); });
    };
    if (part_of(reinterpret_cast<std::uintptr_t>(&here)) == parts_end) return;
    // The wrappers, each pointing to a fat binary, lie in the data that the program may write.
    for (const auto* part = parts; part != parts_end; ++part) {
      if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) || (part->p_flags & PF_X)) continue;
      const std::uintptr_t start = object.dlpi_addr + part->p_vaddr;
      for (std::uintptr_t p = (start + 7) / 8 * 8; p + 24 <= start + part->p_filesz; p += 8) {
        std::uint32_t magic;
        std::uintptr_t data;
        std::memcpy(&magic, reinterpret_cast<const char*>(p), sizeof magic);
        if (magic != 0x466243B1) continue;
        std::memcpy(&data, reinterpret_cast<const char*>(p) + 8, sizeof data);
        const auto* in = part_of(data);
        if (in == parts_end) continue;
        const auto found = fat_binary_images(reinterpret_cast<const char*>(data),
                                             object.dlpi_addr + in->p_vaddr + in->p_filesz - data);
        images.insert(images.end(), found.begin(), found.end());
      }
    }
  };
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* f) {
        (*static_cast<decltype(look)*>(f))(*object);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&look)));
#endif
#ifdef __CUDA_ARCH_LIST__
  if (images.empty()) {
    for (const int a : {__CUDA_ARCH_LIST__}) images.push_back({false, a / 10});
    CudaImage newest = images.back();
    newest.ptx = true;
    newest.isa = detail::newest_isa(CUDART_VERSION);
    images.push_back(newest);
  }
#endif
  sort_images(images);
  return images;
}

}  // namespace with_cuda
#endif

}  // namespace kern::gpu
