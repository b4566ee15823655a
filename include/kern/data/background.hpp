// A thread that works ahead of the one that uses what it makes.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "../core/simd.hpp"

namespace kern::data {

/// A thread that runs make(number) for the numbers 0, 1, 2, ... as far as it is told; they wrap around at
/// 2^32. One other thread, the user, tells it, and makes a number itself that the thread hasn't begun when
/// the user needs it: on a busy machine a thread may take milliseconds to wake. No two make() run at the
/// same time. make must not throw.
class Background {
 public:
  template <class Make>
  explicit Background(Make make) : thread_([this, make] { work(make); }) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for the make() that runs; the rest is left.
  ~Background() {
    stop_.store(true, std::memory_order_relaxed);
    asked_.fetch_add(1, std::memory_order_release);
    asked_.notify_one();
    thread_.join();
  }

  /// The first number that the thread was not told to make.
  std::uint32_t asked() const { return asked_.load(std::memory_order_relaxed); }
  /// Returns when `number` is made, by `make` if the thread hasn't begun it; tells the thread to go on until
  /// `end`, exclusive. All numbers before it must be made, and none after it asked for.
  template <class Make>
  void need(std::uint32_t number, std::uint32_t end, const Make& make) {
    std::uint32_t begun = number;
    if (begun_.compare_exchange_strong(begun, number + 1, std::memory_order_acquire)) {
      make(number);
      made_.store(number + 1, std::memory_order_release);
      ask(end);
    } else {
      ask(end);
      wait(number + 1);
    }
  }
  /// Takes back what it hasn't begun, and waits for what it has.
  void cancel() {
    const std::uint32_t end = asked();
    std::uint32_t begun = begun_.load(std::memory_order_relaxed);
    while (begun != end && !begun_.compare_exchange_weak(begun, end, std::memory_order_relaxed)) {
    }
    wait(begun);
    made_.store(end, std::memory_order_relaxed);
  }

 private:
  void ask(std::uint32_t end) {
    if (end == asked()) return;
    asked_.store(end, std::memory_order_release);
    asked_.notify_one();
  }
  static constexpr int spins = 4000;  // 50 to 200 us, by the CPU's pause

  /// Returns when all numbers below `end` are made.
  void wait(std::uint32_t end) {
    const auto ready = [&](std::uint32_t made) { return std::int32_t(made - end) >= 0; };
    for (int i = 0; i < spins; ++i) {
      if (ready(made_.load(std::memory_order_acquire))) return;
      pause();
    }
    for (std::uint32_t made; !ready(made = made_.load(std::memory_order_acquire));) made_.wait(made);
  }
  // Blocks at once when there is nothing to do: it is ahead by a batch, and whoever uses that needs the
  // cores.
  template <class Make>
  void work(const Make& make) {
    for (;;) {
      const std::uint32_t end = asked_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      std::uint32_t number = begun_.load(std::memory_order_relaxed);
      if (std::int32_t(end - number) <= 0) {
        asked_.wait(end, std::memory_order_relaxed);
      } else if (begun_.compare_exchange_strong(number, number + 1, std::memory_order_acquire)) {
        make(number);
        made_.store(number + 1, std::memory_order_release);
        made_.notify_one();
      }
    }
  }

  alignas(64) std::atomic<std::uint32_t> asked_{0};
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // by either thread
  alignas(64) std::atomic<std::uint32_t> made_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace kern::data
