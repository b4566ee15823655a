// Files for tests of readers, and what an error says.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace kern::testing {

/// A new folder that goes away with its owner.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kern-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string write(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::filesystem::remove(path);  // ext4 flushes a file that is overwritten to the disk
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

/// An IDX file as its format is described: magic number, extents in big-endian order, elements.
inline std::vector<std::uint8_t> idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& extents,
                                           const std::vector<std::uint8_t>& elements) {
  std::vector<std::uint8_t> b;
  const auto number = [&](std::uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) b.push_back(std::uint8_t(n >> shift));
  };
  number(magic);
  for (std::uint32_t e : extents) number(e);
  b.insert(b.end(), elements.begin(), elements.end());
  return b;
}

/// n images of 28 x 28, pixel p of image i is (7 i + 3 p) mod 256; n labels, label i is i mod 10.
inline std::vector<std::uint8_t> digit_images(std::uint32_t n) {
  std::vector<std::uint8_t> pixels;
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t p = 0; p < 28 * 28; ++p) pixels.push_back(std::uint8_t(7 * i + 3 * p));
  return idx_bytes(0x803, {n, 28, 28}, pixels);
}
inline std::vector<std::uint8_t> digit_labels(std::uint32_t n) {
  std::vector<std::uint8_t> labels;
  for (std::uint32_t i = 0; i < n; ++i) labels.push_back(std::uint8_t(i % 10));
  return idx_bytes(0x801, {n}, labels);
}

/// Byte (c, y, x) of picture i in cifar_records().
inline std::uint8_t cifar_pixel(std::size_t i, std::size_t c, std::size_t y, std::size_t x) {
  return std::uint8_t(31 * i + 85 * c + 7 * y + 3 * x);
}
/// n records as CIFAR's binary files have them, their labels behind each other in `labels`: one each, or two.
inline std::vector<std::uint8_t> cifar_records(std::size_t n, const std::vector<std::uint8_t>& labels) {
  std::vector<std::uint8_t> b;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < labels.size() / n; ++k) b.push_back(labels[i * (labels.size() / n) + k]);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 32; ++y)
        for (std::size_t x = 0; x < 32; ++x) b.push_back(cifar_pixel(i, c, y, x));
  }
  return b;
}

/// What f throws as an E; another exception passes through.
template <class E, class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace kern::testing
