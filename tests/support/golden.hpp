// Reads the golden files that tests/golden/make_golden.py made, and compares with them.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kern/graph/parameters.hpp"
#include "kern/tensor/random.hpp"

#ifndef KERN_TEST_DATA
#define KERN_TEST_DATA "tests/golden"
#endif

namespace kern::testing {

/// Every stride-th of count values, and the sum of all; how far PyTorch's float32 result is away (0: not
/// computed).
struct GoldenArray {
  std::size_t count = 0, stride = 1;
  double sum = 0, float_error = 0;
  std::vector<double> values;
};
using GoldenCase = std::map<std::string, GoldenArray>;

/// A case of a golden file; throws if there is none.
inline const GoldenCase& golden(const std::string& file, const std::string& name) {
  static std::map<std::string, std::map<std::string, GoldenCase>> files;
  auto& cases = files[file];
  if (cases.empty()) {
    const char* const moved = std::getenv("KERN_TEST_DATA");  // a program may run elsewhere than it was made
    const std::string path = std::string(moved ? moved : KERN_TEST_DATA) + "/" + file;
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + ": cannot be opened");
    std::string line, word, current;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      words >> word;
      if (word == "case") {
        words >> current;
      } else if (word == "array") {
        GoldenArray a;
        std::string key;
        words >> key >> a.count >> a.stride >> a.sum >> a.float_error;
        std::getline(in, line);
        std::istringstream values(line);
        for (double v; values >> v;) a.values.push_back(v);
        if (a.values.size() != (a.count + a.stride - 1) / a.stride)
          throw std::runtime_error(path + ": array " + key + " of " + current + " is cut off");
        cases[current][key] = a;
      }
    }
  }
  if (!cases.count(name)) throw std::runtime_error(file + " has no case " + name);
  return cases.at(name);
}

/// Element i of array `number` of the formula in make_golden.py.
inline double formula(std::uint64_t number, std::size_t i, double scale = 1) {
  return (2 * kern::detail::uniform_block(Seed{number}, i / 4)[i % 4] - 1) * scale;
}
template <class T>
std::vector<T> formula_array(std::uint64_t number, std::size_t n, double scale = 1) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = T(formula(number, i, scale));
  return v;
}

/// Parameter k of a model = array 100 + k.
template <class Model>
void fill(Model& model) {
  std::uint64_t k = 0;
  for (const auto& slot : graph::parameter_slots<typename Model::Net>) {
    const double scale = std::exp2(-std::floor(std::log2(double(slot.parameter.fan_in)) / 2));
    model.set_parameter(slot.name.text, formula_array<typename Model::Element>(
                                            100 + k++, std::size_t(slot.parameter.size()), scale));
  }
}

inline const GoldenArray& golden_array(const GoldenCase& c, const std::string& name) {
  REQUIRE(c.count(name) == 1);
  return c.at(name);
}
/// The first n values of one that has them all.
inline GoldenArray first(GoldenArray g, std::size_t n) {
  REQUIRE((g.stride == 1 && n <= g.count));
  g.values.resize(g.count = n);
  g.sum = 0;
  for (const double v : g.values) g.sum += v;
  return g;
}
/// One unit of T's last place at the size of an array's largest value.
template <class T>
double unit_of(const GoldenArray& g) {
  double most = 1e-3;
  for (double x : g.values) most = std::max(most, std::abs(x));
  return double(std::numeric_limits<T>::epsilon()) * most;
}

/// No value of v is further than `most` from a golden array's, and their sum than `sum_most`.
template <class T>
void check_within(const GoldenArray& g, const std::vector<T>& v, double most, double sum_most) {
  REQUIRE(v.size() == g.count);
  double sum = 0, worst = 0;
  for (T x : v) sum += double(x);
  std::size_t at = 0;
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    const double off = std::abs(double(v[i * g.stride]) - g.values[i]);
    if (!(off <= worst)) worst = off, at = i * g.stride;
  }
  CAPTURE(at);
  CHECK(worst <= most);
  CHECK(std::abs(sum - g.sum) <= sum_most);
}

/// Compares v with a golden array. A value may differ by `roundings` units of T's last place at the size of
/// the largest. A sum of n products of numbers up to 1 in size is off by at most n such units, and typically
/// by sqrt(n).
template <class T>
void check_close(const GoldenCase& c, const std::string& name, const std::vector<T>& v, double roundings) {
  CAPTURE(name);
  const GoldenArray& g = golden_array(c, name);
  const double most = roundings * unit_of<T>(g);
  check_within(g, v, most, most * std::sqrt(double(g.count)) * 4);
}
/// Compares v with a golden array of which PyTorch's float32 error is known: v may be 4 times as far away (in
/// double, by that much less), for its sums are rounded in another order, or a few units of the last place.
/// Errors of a whole net go together (a loss's is in all gradients), so that their sum may be that of all.
template <class T>
void check_as_accurate(const GoldenCase& c, const std::string& name, const std::vector<T>& v) {
  CAPTURE(name);
  const GoldenArray& g = golden_array(c, name);
  REQUIRE(g.float_error > 0);
  const double error = g.float_error * double(std::numeric_limits<T>::epsilon()) /
                       double(std::numeric_limits<float>::epsilon());
  const double most = std::max(4 * error, 4 * unit_of<T>(g));
  check_within(g, v, most, most * double(g.count));
}

}  // namespace kern::testing
