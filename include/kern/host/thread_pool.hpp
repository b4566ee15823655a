// Workers that run numbered tasks. Tasks are claimed from a counter; waiting is a bounded spin, then a block:
// the other core of a shared machine can be away for milliseconds.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

#include "../core/error.hpp"
#include "pause.hpp"

namespace kern::host {

/// `threads` workers, the calling thread among them. One thread at a time may call run().
class ThreadPool {
 public:
  /// threads <= 0: as many as the machine has. Throws Error if the system doesn't give so many.
  explicit ThreadPool(int threads = 0) {
    if (threads <= 0) threads = std::max(1, int(std::thread::hardware_concurrency()));
    workers_.reserve(std::size_t(threads - 1));
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { loop(i); });
    } catch (const std::exception& e) {
      const std::size_t started = workers_.size() + 1;
      stop();
      throw Error(text("expected ", threads, " threads, but the system gave ", started, ": ", e.what()));
    }
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { stop(); }

  int threads() const { return int(workers_.size()) + 1; }

  /// f(task, worker) for every task in [0, n); returns when all have run. Which worker runs which task is not
  /// fixed: results must not depend on it. f must not throw.
  template <class F>
  void run(int n, F&& f) {
    using G = std::remove_reference_t<F>;
    run(
        n, [](void* g, int task, int worker) { (*static_cast<G*>(g))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Call = void (*)(void*, int task, int worker);
  static constexpr int spins = 4000;  // 50 to 200 us, by the CPU's pause

  void stop() {
    stop_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& t : workers_) t.join();
  }
  // Through a pointer even on one thread, and not inlined: f's body and this are compiled once.
  [[gnu::noinline]] void run(int n, Call call, void* argument) {
    if (workers_.empty() || n <= 1) {
      for (int i = 0; i < n; ++i) call(argument, i, 0);
      return;
    }
    call_ = call;
    argument_ = argument;
    count_ = n;
    done_.store(0, std::memory_order_relaxed);
    const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    open_.store(std::uint64_t(epoch) << 32 | std::uint32_t(n), std::memory_order_release);
    epoch_.store(epoch, std::memory_order_release);
    epoch_.notify_all();
    work(epoch, 0);
    for (int done; (done = done_.load(std::memory_order_acquire)) != n;)
      if (!spin([&] { return done_.load(std::memory_order_acquire) == n; })) done_.wait(done);
  }

  template <class Done>
  static bool spin(Done done) {
    for (int s = 0; s < spins; ++s) {
      if (done()) return true;
      pause();
    }
    return done();
  }
  // A task is claimed together with the epoch that it belongs to: a worker that comes late, when all tasks
  // are taken or the next epoch has begun, finds nothing and nobody waits for it.
  void work(std::uint32_t epoch, int worker) {
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while (std::uint32_t(open >> 32) == epoch && std::uint32_t(open) != 0) {
      if (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      const int count = count_;
      call_(argument_, count - int(std::uint32_t(open)), worker);
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done_.notify_one();
      open = open_.load(std::memory_order_acquire);
    }
  }
  void loop(int worker) {
    for (std::uint32_t seen = 0;;) {
      if (!spin([&] { return epoch_.load(std::memory_order_acquire) != seen; })) epoch_.wait(seen);
      const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
      if (epoch == seen) continue;
      seen = epoch;
      if (stop_.load(std::memory_order_relaxed)) return;
      work(epoch, worker);
    }
  }

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  alignas(64) std::atomic<std::uint64_t> open_{0};  // epoch, tasks not yet claimed
  alignas(64) std::atomic<int> done_{0};            // tasks finished
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace kern::host
