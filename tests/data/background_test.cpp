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
constexpr auto nothing = [](Number, int = 0) {};

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
  Background b(1, [&](Number n, int) { by_thread += n + 1; });
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
  Background b(1, [&](Number, int) {
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
  const auto make = [&](Number n, int = 0) {
    begun = true;
    while (!go) std::this_thread::yield();
    made.push_back(n);
  };
  Background b(1, make);
  b.need(0, 2, nothing);
  REQUIRE(eventually([&] { return begun.load(); }));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go = true;
  });
  b.cancel();
  CHECK(made == std::vector<Number>{1});
  later.join();
  CHECK(b.asked() == 2);
  b.cancel();
  b.need(2, 4, make);
  b.need(3, 4, make);
  CHECK(made == std::vector<Number>{1, 2, 3});
}

TEST_CASE("every number once, in order, never two at a time") {
  std::vector<Number> made, expected;
  int inside = 0, overlaps = 0;
  const auto make = [&](Number n, int = 0) {
    if (inside++ > 0) ++overlaps;
    made.push_back(n);
    --inside;
  };
  Background b(1, make);
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

TEST_CASE(
    "several threads, one, none: every number once, by the time that it is needed; what is taken back, "
    "never") {
  for (const int threads : {0, 1, 2, 3, 7}) {
    CAPTURE(threads);
    const Number room = Background::room(threads);
    CHECK(room > Number(threads));
    CHECK(room <= Number(2 * threads + 1));
    struct Made {
      Number number = ~Number{0};
      int thread = -1;
    };
    std::vector<Made> made(room);  // guarded by the Background: a slot is one number's at a time
    std::vector<std::atomic<int>> busy(std::size_t(threads) + 1);
    std::atomic<int> wrong{0};
    const auto make = [&](Number n, int thread) {
      if (busy[std::size_t(thread)].fetch_add(1) != 0) ++wrong;
      made[n % room] = {n, thread};
      if (busy[std::size_t(thread)].fetch_sub(1) != 1) ++wrong;
    };
    Background b(threads, make);
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
      const Number first = b.asked(), used = 1 + Number(random() % 20);
      for (Number n = first; n < first + used; ++n) {
        b.need(n, n + room, [&](Number number) { make(number, threads); });
        REQUIRE(made[n % room].number == n);
        REQUIRE((made[n % room].thread >= 0 && made[n % room].thread <= threads));
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
      }
      b.cancel();
      const auto before = made;
      REQUIRE(b.asked() == first + used - 1 + room);
      if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (Number i = 0; i < room; ++i) REQUIRE(made[i].number == before[i].number);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the threads work at the same time") {
  std::atomic<int> inside{0};
  Background b(3, [&](Number, int) {
    ++inside;
    eventually([&] { return inside >= 3; });
  });
  b.need(0, 4, nothing);
  CHECK(eventually([&] { return inside == 3; }));
}

TEST_CASE("the end waits for what is being made") {
  std::atomic<bool> begun{false}, ended{false};
  std::atomic<int> made{0};
  {
    Background b(1, [&](Number, int) {
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      CHECK(!ended);
      ++made;
    });
    b.need(0, 2, nothing);
    REQUIRE(eventually([&] { return begun.load(); }));
  }
  ended = true;
  CHECK(made == 1);
  const Background unused(1, nothing);
}
