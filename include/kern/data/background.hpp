// A thread that works ahead of the one that uses what it makes.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "../core/simd.hpp"

namespace kern::data {

/// A thread that runs make(number) for the numbers 0, 1, 2, ... as far as it is told; they wrap around at
/// 2^32. One other thread tells it. make must not throw.
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

  /// The first number that it may not make yet.
  std::uint32_t asked() const { return asked_.load(std::memory_order_relaxed); }
  /// It may go on until this number, exclusive.
  void ask(std::uint32_t end) {
    if (end == asked()) return;
    asked_.store(end, std::memory_order_release);
    asked_.notify_one();
  }
  /// Returns when all numbers below `end` are made.
  void wait(std::uint32_t end) {
    const auto ready = [&](std::uint32_t made) { return std::int32_t(made - end) >= 0; };
    for (int i = 0; i < spins; ++i) {
      if (ready(made_.load(std::memory_order_acquire))) return;
      pause();
    }
    for (std::uint32_t made; !ready(made = made_.load(std::memory_order_acquire));) made_.wait(made);
  }

 private:
  static constexpr int spins = 4000;  // 50 to 200 us, by the CPU's pause

  // Blocks at once when there is nothing to do: it is ahead by a batch, and whoever uses that needs the
  // cores.
  template <class Make>
  void work(const Make& make) {
    for (std::uint32_t made = 0;; ++made) {
      asked_.wait(made, std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      make(made);
      made_.store(made + 1, std::memory_order_release);
      made_.notify_one();
    }
  }

  alignas(64) std::atomic<std::uint32_t> asked_{0};
  alignas(64) std::atomic<std::uint32_t> made_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace kern::data
