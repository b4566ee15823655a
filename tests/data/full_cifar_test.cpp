// The whole set, where KERN_DATA says it is, against what is published about it.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "kern/data/cifar.hpp"
#include "support/skip.hpp"

using namespace kern;
using data::Cifar10;
using data::Split;

namespace {
std::string folder() {
  const char* place = std::getenv("KERN_DATA");
  const std::string in = place ? place : "";
  for (const std::string& p : {in, in + "/.."})  // where MNIST's files are, or beside them
    if (!in.empty() &&
        (data::detail::exists(p + "/test_batch.bin") || data::detail::exists(p + "/cifar-10-batches-bin")))
      return p;
  test::skip("neither in the folder that KERN_DATA names, nor beside it, is cifar-10-batches-bin");
}
}  // namespace

TEST_CASE("sizes, classes, and the means and deviations that everybody normalises with") {
  for (const auto& [split, each] : {std::pair{Split::train, 5000}, {Split::test, 1000}}) {
    const Cifar10 set{folder(), split};
    REQUIRE(set.size() == std::size_t(each) * 10);
    std::vector<int> count(10);
    double sum[3] = {}, squares[3] = {};
    for (std::size_t i = 0; i < set.size(); ++i) {
      const data::Record r = set.get(i);
      ++count[std::size_t(r.label)];
      for (std::size_t p = 0; p < r.pixels.size(); ++p) {
        const double v = r.pixels[p] / 255.0;
        sum[p % 3] += v, squares[p % 3] += v * v;
      }
    }
    CHECK(count == std::vector(10, each));
    // Of the training pictures; those to test differ by 0.003, a copy kept as JPEG by 0.002.
    const double mean[] = {0.4914, 0.4822, 0.4465}, deviation[] = {0.2470, 0.2435, 0.2616};
    for (int c = 0; c < 3; ++c) {
      const double n = double(set.size()) * 1024, m = sum[c] / n;
      CHECK(std::abs(m - mean[c]) < 0.005);
      CHECK(std::abs(std::sqrt(squares[c] / n - m * m) - deviation[c]) < 0.005);
    }
  }
}
