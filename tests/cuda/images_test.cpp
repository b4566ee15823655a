// The heads of fat binaries. Whether real ones are read right, facts_test.cu and the programs under
// "device_info" show.
#include "kern/cuda/images.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kern;

namespace {

template <class N>
void put(std::string& s, N n) {
  s.append(reinterpret_cast<const char*>(&n), sizeof n);
}
/// As `fatbinary` of CUDA 13.0 writes it, but for the bodies.
std::string entry(int kind, int architecture, std::uint16_t minor, std::uint16_t major, std::uint64_t flags,
                  std::size_t body) {
  std::string s;
  put(s, std::uint16_t(kind));
  put(s, std::uint16_t(0x101));
  put(s, std::uint32_t(64));
  put(s, std::uint64_t(body));
  put(s, std::uint64_t(0));
  put(s, minor);
  put(s, major);
  put(s, std::uint32_t(architecture));
  put(s, std::uint64_t(0));
  put(s, flags);
  s.resize(64 + body);
  return s;
}
std::string fat(const std::string& entries) {
  std::string s;
  put(s, std::uint32_t(0xBA55ED50));
  put(s, std::uint16_t(1));
  put(s, std::uint16_t(16));
  put(s, std::uint64_t(entries.size()));
  return s + entries;
}

const std::string all = fat(entry(2, 90, 8, 1, 0x100011, 24) + entry(1, 75, 7, 8, 0x8011, 8) +
                            entry(64, 0, 0, 0, 0, 8) + entry(2, 100, 8, 1, 0x1200011, 0));

}  // namespace

TEST_CASE("machine code, PTX, suffixes and the version of PTX; other entries are passed over") {
  const auto images = gpu::fat_binary_images(all.data(), all.size());
  REQUIRE(images.size() == 3);
  CHECK(images[0] == CudaImage{false, 90, 'a', 0});
  CHECK(images[1] == CudaImage{true, 75, 0, 87});
  CHECK(images[2] == CudaImage{false, 100, 'f', 0});
}

TEST_CASE("what is cut short or no fat binary gives what can be read, and reads no byte behind it") {
  for (std::size_t size = 0; size < all.size(); ++size) {
    CAPTURE(size);
    const std::string part(all.data(), size);  // of this size to the byte: sanitizers would see a read behind
    CHECK(gpu::fat_binary_images(part.data(), part.size()).size() <= 3);
  }
  std::string wrong = all;
  wrong[0] = 0;
  CHECK(gpu::fat_binary_images(wrong.data(), wrong.size()).empty());
  for (std::size_t at = 4; at < all.size(); ++at) {  // any byte wrong: no crash, no endless loop
    wrong = all;
    wrong[at] = char(0xFF);
    CHECK(gpu::fat_binary_images(wrong.data(), wrong.size()).size() <= 4);
    wrong[at] = 0;
    CHECK(gpu::fat_binary_images(wrong.data(), wrong.size()).size() <= 20);
  }
}

TEST_CASE("sorted: each once, machine code first") {
  std::vector<CudaImage> images{
      {true, 75, 0, 90}, {false, 90}, {false, 80}, {true, 75, 0, 90}, {false, 90, 'a'}};
  gpu::sort_images(images);
  CHECK(images == std::vector<CudaImage>{{false, 80}, {false, 90}, {false, 90, 'a'}, {true, 75, 0, 90}});
}
