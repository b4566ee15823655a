// Against tests/golden/make_random_golden.py, which restates the documented mapping in exact arithmetic, and
// against the distributions.
#include "kern/tensor/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <vector>

#ifndef KERN_TEST_DATA
#define KERN_TEST_DATA "tests/golden"
#endif

using namespace kern;

namespace {

template <class T>
Tensor<T, Shape<dyn>> make(const std::string& name, Seed seed, std::size_t count) {
  return name == "rand" ? rand<T, Shape<dyn>>(seed, count) : randn<T, Shape<dyn>>(seed, count);
}
template <class T>
void compare(const std::string& name, Seed seed, std::size_t first, const std::vector<double>& expected) {
  const auto t = make<T>(name, seed, first + expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(double(t(first + i)) == expected[i]);
}

/// The largest distance between the distribution of values and the one that cdf describes: Kolmogorov and
/// Smirnov's statistic.
template <class Cdf>
double distance(std::vector<double> values, Cdf cdf) {
  std::sort(values.begin(), values.end());
  double most = 0;
  const auto n = double(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double f = cdf(values[i]);
    most = std::max({most, std::fabs(f - double(i) / n), std::fabs(f - double(i + 1) / n)});
  }
  return most;
}
double correlation(const float* a, const float* b, std::size_t n) {
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  const auto m = double(n);
  return (sab - sa * sb / m) / std::sqrt((saa - sa * sa / m) * (sbb - sb * sb / m));
}

}  // namespace

TEST_CASE("the numbers are those of the documented mapping, to the bit") {
  std::ifstream in(KERN_TEST_DATA "/random.txt");
  REQUIRE_MESSAGE(in.good(), KERN_TEST_DATA "/random.txt cannot be opened");
  std::string line;
  std::getline(in, line);  // how the file was made
  int cases = 0;
  while (std::getline(in, line)) {
    CAPTURE(line);
    std::istringstream head(line);
    std::string name, type;
    Seed seed;
    std::size_t first = 0;
    head >> name >> type >> seed.value >> first;
    std::getline(in, line);
    std::istringstream values(line);
    std::vector<double> expected;
    for (double v; values >> v;) expected.push_back(v);
    REQUIRE(expected.size() == 15);
    if (type == "float")
      compare<float>(name, seed, first, expected);
    else
      compare<double>(name, seed, first, expected);
    ++cases;
  }
  CHECK(cases == 12);
}

TEST_CASE("an element depends on its number alone, not on the shape") {
  const auto flat = randn<float, Shape<dyn>>(Seed{3}, 24);
  const auto cube = randn<float, Shape<2, dyn, 4>>(Seed{3}, 3);
  const auto start = randn<float, Shape<5>>(Seed{3});
  CHECK(std::equal(flat.begin(), flat.end(), cube.begin(), cube.end()));
  CHECK(std::equal(start.begin(), start.end(), flat.begin()));
  CHECK(rand<float, Shape<dyn, 3>>(Seed{0}, 0).size() == 0);
}

TEST_CASE("rand is uniform in [0, 1)") {
  const std::size_t n = 100000;
  const auto t = rand<float, Shape<dyn>>(Seed{11}, n);
  const auto d = rand<double, Shape<dyn>>(Seed{11}, n);
  CHECK(*std::min_element(t.begin(), t.end()) >= 0);
  CHECK(*std::max_element(t.begin(), t.end()) < 1);
  CHECK(*std::max_element(d.begin(), d.end()) < 1);
  // Exceeded by one seed in a thousand: 1.95 / sqrt(n).
  const auto cdf = [](double x) { return x; };
  CHECK(distance({t.begin(), t.end()}, cdf) < 1.95 / std::sqrt(double(n)));
  CHECK(distance({d.begin(), d.end()}, cdf) < 1.95 / std::sqrt(double(n)));
}

TEST_CASE("randn is normal") {
  const std::size_t n = 100000;
  const auto t = randn<float, Shape<dyn>>(Seed{11}, n);
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  CHECK(distance({t.begin(), t.end()}, cdf) < 1.95 / std::sqrt(double(n)));
  // A block's numbers, and its neighbour's, are independent: 3.3 deviations of a correlation of 0.
  for (const std::size_t lag : {1u, 2u, 3u, 4u, 5u, 8u})
    CHECK(std::fabs(correlation(t.data(), t.data() + lag, n - lag)) < 3.3 / std::sqrt(double(n)));
}

TEST_CASE("seeds, and rand and randn of one seed, have nothing in common") {
  const std::size_t n = 10000;
  const double limit = 3.3 / std::sqrt(double(n));
  const auto a = randn<float, Shape<dyn>>(Seed{1}, n), b = randn<float, Shape<dyn>>(Seed{2}, n);
  const auto u = rand<float, Shape<dyn>>(Seed{1}, n);
  CHECK(std::fabs(correlation(a.data(), b.data(), n)) < limit);
  std::vector<float> radius(n), part(n);  // rand's numbers would show as radii of randn's pairs
  for (std::size_t i = 0; i < n; i += 2) {
    radius[i] = radius[i + 1] = std::hypot(a(i), a(i + 1));
    part[i] = part[i + 1] = u(i);
  }
  CHECK(std::fabs(correlation(radius.data(), part.data(), n)) < 1.5 * limit);
}
