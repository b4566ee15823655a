#include "kern/host/thread_pool.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace kern;

namespace {
constexpr int sizes[] = {0, 1, 2, 3, 7, 64, 1000};
}

// Sanitizers replace pthread_create themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KERN_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KERN_SANITIZED
#endif
#endif
#ifndef KERN_SANITIZED
namespace {
std::atomic<int> threads_to_give{-1};  // -1: all
}
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_to_give == 0) return EAGAIN;
  if (threads_to_give > 0) --threads_to_give;
  return real(thread, attributes, run, argument);
}

TEST_CASE("threads that the system doesn't give") {
  for (const int given : {0, 1, 5}) {
    threads_to_give = given;
    std::string what;
    try {
      host::ThreadPool pool(9);
    } catch (const Error& e) {
      what = e.what();
    }
    threads_to_give = -1;
    CHECK(what.find("expected 9 threads, but the system gave " + std::to_string(given + 1) + ": ") == 0);
  }
}
#endif

TEST_CASE("every task runs once, on a worker of the pool") {
  for (int threads = 1; threads <= 4; ++threads) {
    CAPTURE(threads);
    host::ThreadPool pool(threads);
    REQUIRE(pool.threads() == threads);
    for (int n : sizes) {
      CAPTURE(n);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
      std::atomic<int> wrong_worker{0};
      pool.run(n, [&](int task, int worker) {
        runs[std::size_t(task)]++;
        if (worker < 0 || worker >= threads) wrong_worker++;
      });
      CHECK(wrong_worker == 0);
      for (const auto& r : runs) REQUIRE(r == 1);
    }
  }
}

TEST_CASE("what tasks write is there when run returns, over many runs") {
  for (int threads = 1; threads <= 4; ++threads) {
    CAPTURE(threads);
    host::ThreadPool pool(threads);
    std::vector<long> value(13, 0);  // plain memory: run() itself must order the writes
    long expected = 0;
    for (int round = 0; round < 500; ++round) {
      const int n = round % 14;
      for (int i = 0; i < n; ++i) expected += i;
      pool.run(n, [&](int task, int) { value[std::size_t(task)] += task; });
      REQUIRE(std::accumulate(value.begin(), value.end(), 0L) == expected);
    }
  }
}

TEST_CASE("two tasks at once never share a worker number") {
  host::ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> shared{0};
  for (int round = 0; round < 50; ++round)
    pool.run(16, [&](int, int worker) {
      if (inside[std::size_t(worker)]++ != 0) shared++;
      std::this_thread::yield();
      inside[std::size_t(worker)]--;
    });
  CHECK(shared == 0);
}

TEST_CASE("workers that have gone to sleep wake up") {
  host::ThreadPool pool(3);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // well beyond the spin
    std::atomic<int> sum{0};
    pool.run(100, [&](int task, int) { sum += task; });
    CHECK(sum == 4950);
  }
}

TEST_CASE("the caller sleeps through a long task") {
  host::ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.run(2, [&](int, int worker) {
    if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done++;
  });
  CHECK(done == 2);
}

TEST_CASE("pools come and go, used or not, one within another's task") {
  for (int i = 0; i < 50; ++i) host::ThreadPool unused(4);
  host::ThreadPool outer(2);
  std::atomic<int> sum{0};
  outer.run(4, [&](int, int) {
    host::ThreadPool inner(2);
    inner.run(10, [&](int task, int) { sum += task; });
  });
  CHECK(sum == 180);
}

TEST_CASE("no count means the machine's") {
  const int all = std::max(1, int(std::thread::hardware_concurrency()));
  CHECK(host::ThreadPool().threads() == all);
  CHECK(host::ThreadPool(-3).threads() == all);
}
