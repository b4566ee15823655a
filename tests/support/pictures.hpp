// The pictures that tests/golden/make_picture_golden.py made.
#pragma once
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "kern/data/file.hpp"
#include "kern/io/picture.hpp"

namespace kern::testing {

inline std::string golden_picture(const std::string& name) {
  return std::string(KERN_TEST_DATA) + (name.ends_with(".png") ? "/png/" : "/jpeg/") + name;
}
/// Of ppm/NAME.ppm.
inline io::Picture golden_ppm(const std::string& name) {
  const data::Bytes file = data::read_file(KERN_TEST_DATA "/ppm/" + name + ".ppm");
  io::Picture p;
  int header = 0;
  if (std::sscanf(reinterpret_cast<const char*>(file.data()), "P6 %d %d 255%n", &p.width, &p.height,
                  &header) != 2)
    throw std::runtime_error(name + ".ppm: its header can't be read");
  p.pixels.assign(file.begin() + header + 1, file.end());
  return p;
}
/// Calls f(path, expected pixels) for each PNG or JPEG picture that Pillow's convert("RGB") was asked about.
/// -> how many.
template <class F>
int each_golden_picture(const char* folder, F f) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KERN_TEST_DATA) + folder)) {
    const std::string name = entry.path().stem().string();
    if (!std::filesystem::exists(KERN_TEST_DATA "/ppm/" + name + ".ppm")) continue;
    f(entry.path().string(), golden_ppm(name).pixels);
    ++count;
  }
  return count;
}

}  // namespace kern::testing
