// Threads that work ahead of the one that uses what they make.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "../host/pause.hpp"

namespace kern::data {

/// Threads that run make(number, thread) for the numbers 0, 1, 2, ... as far as they are told; these wrap
/// around at 2^32. One other thread, the user, tells them, and makes a number itself that no thread has begun
/// when the user needs it: on a busy machine a thread may take milliseconds to wake. make must not throw.
class Background {
 public:
  /// Any number of threads, 0 included: `thread` is below that.
  template <class Make>
  Background(int threads, Make make) : Background(room(threads)) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this, make, t] { work(make, t); });
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for the make() that run; the rest is left.
  ~Background() {
    stop_.store(true, std::memory_order_relaxed);
    asked_.fetch_add(1, std::memory_order_release);
    asked_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  /// How many numbers, the one that is needed included, may be asked for at a time: more than there are
  /// threads, and a power of two, so that a number % room goes around as the numbers do.
  static constexpr std::uint32_t room(int threads) { return std::bit_ceil(std::uint32_t(threads) + 1); }
  /// The first number that no thread was told to make.
  std::uint32_t asked() const { return asked_.load(std::memory_order_relaxed); }
  /// Returns when `number` is made, by `make` if no thread has begun it; tells the threads to go on until
  /// `end`, exclusive. All numbers before it must have been needed, and none from number + room on asked for.
  template <class Make>
  void need(std::uint32_t number, std::uint32_t end, const Make& make) {
    std::uint32_t begun = number;
    const bool mine = begun_.compare_exchange_strong(begun, number + 1, std::memory_order_acquire);
    if (!mine || threads_.size() > 1) ask(end);
    if (mine) {
      make(number);
      made(number).store(number + 1, std::memory_order_release);
    } else {
      wait(number);
    }
    ask(end);  // with one thread, no two make() run at the same time
  }
  /// Takes back what no thread has begun, and waits for what one has.
  void cancel() {
    const std::uint32_t end = asked();
    std::uint32_t begun = begun_.load(std::memory_order_relaxed);
    while (begun != end && !begun_.compare_exchange_weak(begun, end, std::memory_order_relaxed)) {
    }
    for (std::uint32_t n = begun; n != end; ++n) made(n).store(n + 1, std::memory_order_relaxed);
    for (std::uint32_t n = end - std::uint32_t(made_.size()); n != end; ++n) wait(n);
  }

 private:
  explicit Background(std::uint32_t room) : made_(room) {
    for (std::uint32_t n = -room; n != 0; ++n) made(n).store(n + 1, std::memory_order_relaxed);
  }
  void ask(std::uint32_t end) {
    if (end == asked()) return;
    asked_.store(end, std::memory_order_release);
    asked_.notify_all();
  }
  static constexpr int spins = 4000;  // 50 to 200 us, by the CPU's pause

  /// number + 1 once that is made.
  std::atomic<std::uint32_t>& made(std::uint32_t number) { return made_[number % made_.size()]; }
  /// Returns when `number` is made.
  void wait(std::uint32_t number) {
    const std::atomic<std::uint32_t>& m = made(number);
    for (int i = 0; i < spins; ++i) {
      if (m.load(std::memory_order_acquire) == number + 1) return;
      host::pause();
    }
    for (std::uint32_t before; (before = m.load(std::memory_order_acquire)) != number + 1;) m.wait(before);
  }
  // Blocks at once when there is nothing to do: it is ahead of the user, who needs the cores.
  template <class Make>
  void work(const Make& make, int thread) {
    for (;;) {
      const std::uint32_t end = asked_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      std::uint32_t number = begun_.load(std::memory_order_relaxed);
      if (std::int32_t(end - number) <= 0) {
        asked_.wait(end, std::memory_order_relaxed);
      } else if (begun_.compare_exchange_strong(number, number + 1, std::memory_order_acquire)) {
        make(number, thread);
        made(number).store(number + 1, std::memory_order_release);
        made(number).notify_one();
      }
    }
  }

  alignas(64) std::atomic<std::uint32_t> asked_{0};
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // by any thread
  std::vector<std::atomic<std::uint32_t>> made_;     // of the last `room` numbers
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace kern::data
