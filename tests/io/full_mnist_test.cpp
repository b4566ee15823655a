// The whole set, where KERN_DATA says it is, against what is published about it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kern/data/loader.hpp"
#include "kern/data/mnist.hpp"
#include "kern/io/gzip.hpp"
#include "support/skip.hpp"

using namespace kern;
using data::Mnist;
using data::Split;

namespace {
std::string folder() {
  const char* place = std::getenv("KERN_DATA");
  if (!place || !*place)
    test::skip("KERN_DATA is not set: it names the folder of the full MNIST set, raw or .gz");
  return place;
}
Mnist full(Split split) { return Mnist{folder(), split, io::read_gzip}; }
std::vector<int> class_counts(const Mnist& set) {
  std::vector<int> n(10);
  for (std::size_t i = 0; i < set.size(); ++i) ++n[std::size_t(set.get(i).label)];
  return n;
}
}  // namespace

TEST_CASE("sizes and classes") {
  const Mnist train = full(Split::train), test = full(Split::test);
  CHECK(train.size() == 60'000);
  CHECK(test.size() == 10'000);
  CHECK(class_counts(train) == std::vector{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  CHECK(class_counts(test) == std::vector{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
}

TEST_CASE("an epoch has the mean and deviation that everybody normalises with") {
  data::DataLoader loader{full(Split::train), data::ToTensor{}, {.batch_size = 64, .shuffle = true}};
  double sum = 0, squares = 0;
  std::size_t n = 0;
  for (const auto& batch : loader)
    for (float v : batch.images) sum += double(v), squares += double(v) * double(v), ++n;
  REQUIRE(n == 60'000u * 784);
  const double mean = sum / double(n);
  CHECK(std::abs(mean - 0.1307) < 0.00005);
  CHECK(std::abs(std::sqrt(squares / double(n) - mean * mean) - 0.3081) < 0.00005);
}

TEST_CASE("the sample that ships holds the first images of each class") {
  for (const auto& [split, each] : {std::pair{Split::train, 1000}, {Split::test, 200}}) {
    const Mnist all = full(split), sample{KERN_EXAMPLES_DATA, split};
    std::vector<int> taken(10);
    std::size_t next = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const data::Record r = all.get(i);
      if (taken[std::size_t(r.label)]++ >= each) continue;
      REQUIRE(next < sample.size());
      const data::Record s = sample.get(next++);
      REQUIRE(s.label == r.label);
      REQUIRE(std::ranges::equal(s.pixels, r.pixels));
    }
    CHECK(next == sample.size());
  }
}
