// The pictures that tests/golden/make_picture_golden.py made.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kern/data/file.hpp"

namespace kern::testing {

inline std::string golden_picture(const std::string& name) {
  return std::string(KERN_TEST_DATA) + (name.ends_with(".png") ? "/png/" : "/jpeg/") + name;
}
/// Calls f(path, expected pixels) for each PNG or JPEG picture that Pillow's convert("RGB") was asked about.
/// -> how many.
template <class F>
int each_golden_picture(const char* folder, F f) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KERN_TEST_DATA) + folder)) {
    const std::string ppm = KERN_TEST_DATA "/ppm/" + entry.path().stem().string() + ".ppm";
    if (!std::filesystem::exists(ppm)) continue;
    data::Bytes pixels = data::read_file(ppm);
    std::size_t header = 0;  // ends with the third line
    for (int lines = 0; lines < 3; ++header) lines += pixels[header] == '\n';
    pixels.erase(pixels.begin(), pixels.begin() + std::ptrdiff_t(header));
    f(entry.path().string(), pixels);
    ++count;
  }
  return count;
}

}  // namespace kern::testing
