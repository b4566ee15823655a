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
    backend.chunks(n, 4, [&](stage::Slice s, int chunk) {
      if (s.first != 4 * chunk || s.count() < 1 || s.count() > 4 || s.worker < 0 || s.worker >= 3)
        right = false;
      for (int i = s.first; i < s.last; ++i) ++seen[std::size_t(i)];
    });
    CHECK(right);
    for (int i = 0; i < n; ++i) CHECK(seen[std::size_t(i)] == 1);
  }
}

TEST_CASE("apply() covers every element once, with and without states") {
  const auto add = [](auto& w, auto g, auto& v, auto& u) {
    w = w + g + v;
    v = v + 1;
    u = u - 2;
  };
  host::Backend<double> backend(2);
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{16384}, std::size_t{50001}}) {
    host::Buffer<double> w(n), g(n), v(n), u(n);
    double* const none = nullptr;
    for (std::size_t i = 0; i < n; ++i) g[i] = double(i), v[i] = 0.5;
    backend.apply(n, add, w.data(), g.data(), v.data(), u.data());
    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) right += w[i] == double(i) + 0.5 && v[i] == 1.5 && u[i] == -2;
    CHECK(right == n);
    backend.apply(n, add, w.data(), g.data(), none, u.data());
    for (std::size_t i = 0; i < n; ++i) right -= w[i] == 2 * double(i) + 0.5 && v[i] == 1.5 && u[i] == -4;
    CHECK(right == 0);
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
