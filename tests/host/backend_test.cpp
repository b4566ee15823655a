#include <doctest/doctest.h>

#include <atomic>
#include <kern/host/backend.hpp>
#include <vector>

using namespace kern;

TEST_CASE("chunks() covers the batch, each sample once, whatever the sizes") {
  host::Backend<float> backend(3);
  CHECK(backend.threads() == 3);
  for (int n : {0, 1, 4, 5, 64, 67}) {
    std::vector<std::atomic<int>> seen(std::size_t(n) + 1);
    std::atomic<bool> right{true};
    backend.chunks(n, 4, [&](Slice s, int chunk) {
      if (s.first != 4 * chunk || s.count() < 1 || s.count() > 4 || s.worker < 0 || s.worker >= 3)
        right = false;
      for (int i = s.first; i < s.last; ++i) ++seen[std::size_t(i)];
    });
    CHECK(right);
    for (int i = 0; i < n; ++i) CHECK(seen[std::size_t(i)] == 1);
  }
}

TEST_CASE("map() covers a buffer in blocks of whole registers") {
  host::Backend<double> backend(2);
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{16384}, std::size_t{50001}}) {
    std::vector<int> seen(n);
    std::atomic<bool> right{true};
    backend.map(n, [&](std::size_t begin, std::size_t end) {
      if (begin % std::size_t(lanes<double>) != 0 || (end != n && end % std::size_t(lanes<double>) != 0))
        right = false;
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    CHECK(right);
    CHECK(std::count(seen.begin(), seen.end(), 1) == std::ptrdiff_t(n));
  }
}

TEST_CASE("rows() calls each row once") {
  host::Backend<float> backend(2);
  for (int n : {0, 1, 7, 100}) {
    std::vector<int> seen(std::size_t(n), 0);
    backend.rows(n, [&](int row) { ++seen[std::size_t(row)]; });
    CHECK(std::count(seen.begin(), seen.end(), 1) == n);
  }
}
