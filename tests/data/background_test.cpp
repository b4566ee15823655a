#include "kern/data/background.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

using kern::data::Background;

namespace {
using Number = std::uint32_t;
constexpr auto nothing = [](Number) {};

/// Waits for something that another thread does; false if it doesn't.
template <class F>
bool eventually(F f) {
  for (int i = 0; i < 5000; ++i) {
    if (f()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}
}  // namespace

TEST_CASE("what the thread hasn't begun, the user makes; the next one the thread") {
  std::atomic<Number> by_thread{0};
  Number by_user = 0;
  Background b([&](Number n) { by_thread += n + 1; });
  b.need(0, 2, [&](Number n) { by_user += n + 1; });
  CHECK(by_user == 1);  // nobody had asked for it
  CHECK(b.asked() == 2);
  CHECK(eventually([&] { return by_thread == 2; }));
  b.need(1, 2, [&](Number) { by_user = 100; });
  CHECK(by_user == 1);
  CHECK(by_thread == 2);
}

TEST_CASE("what the thread has begun is waited for") {
  std::atomic<bool> begun{false}, go{false}, made{false};
  Background b([&](Number) {
    begun = true;
    while (!go) std::this_thread::yield();
    made = true;
  });
  b.need(0, 2, nothing);
  REQUIRE(eventually([&] { return begun.load(); }));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go = true;
  });
  b.need(1, 2, nothing);
  CHECK(made);
  later.join();
}

TEST_CASE("cancel waits for what is being made, and the rest is never made") {
  std::atomic<bool> begun{false}, go{false};
  std::vector<Number> made;  // guarded by the Background itself
  const auto make = [&](Number n) {
    begun = true;
    while (!go) std::this_thread::yield();
    made.push_back(n);
  };
  Background b(make);
  b.need(0, 6, nothing);
  REQUIRE(eventually([&] { return begun.load(); }));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go = true;
  });
  b.cancel();
  CHECK(made == std::vector<Number>{1});
  later.join();
  CHECK(b.asked() == 6);
  b.cancel();
  b.need(6, 8, make);
  b.need(7, 8, make);
  CHECK(made == std::vector<Number>{1, 6, 7});
}

TEST_CASE("every number once, in order, never two at a time") {
  std::vector<Number> made, expected;
  int inside = 0, overlaps = 0;
  const auto make = [&](Number n) {
    if (inside++ > 0) ++overlaps;
    made.push_back(n);
    --inside;
  };
  Background b(make);
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const Number first = b.asked(), used = 1 + Number(random() % 20);
    for (Number n = first; n < first + used; ++n) {
      b.need(n, n + 2, make);
      expected.push_back(n);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
    }
    b.cancel();  // of the last one that was asked for: it may be made by now, or not
    REQUIRE(b.asked() == first + used + 1);
    if (made.size() > expected.size()) expected.push_back(first + used);
    REQUIRE(made == expected);
  }
  CHECK(overlaps == 0);
}

TEST_CASE("the end waits for what is being made") {
  std::atomic<bool> begun{false}, ended{false};
  std::atomic<int> made{0};
  {
    Background b([&](Number) {
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      CHECK(!ended);
      ++made;
    });
    b.need(0, 100, nothing);
    REQUIRE(eventually([&] { return begun.load(); }));
  }
  ended = true;
  CHECK(made >= 1);
  CHECK(made < 100);
  const Background unused(nothing);
}
