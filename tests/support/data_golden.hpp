// Reads tests/golden/data.txt, which make_data_golden.py made.
#pragma once
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace kern::testing {

/// The words of an array as numbers in this base.
inline std::vector<std::uint32_t> golden_words(const std::string& name, int base) {
  const std::string path = KERN_TEST_DATA "/data.txt";
  std::ifstream in(path);
  std::string line, word;
  while (std::getline(in, line)) {
    std::istringstream head(line);
    std::size_t count = 0;
    if (!(head >> word >> count) || word != name) continue;
    std::vector<std::uint32_t> values;
    while (values.size() < count && in >> word)
      values.push_back(std::uint32_t(std::stoul(word, nullptr, base)));
    if (values.size() == count) return values;
  }
  throw std::runtime_error(path + ": has no whole array " + name);
}

}  // namespace kern::testing
