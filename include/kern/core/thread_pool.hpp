// Workers that run numbered tasks. Tasks are claimed from a counter; waiting is a bounded spin, then a block:
// the other core of a shared machine can be away for milliseconds.
#pragma once
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "simd.hpp"

namespace kern {

/// `threads` workers, the calling thread among them. One thread at a time may call run().
class ThreadPool {
 public:
  /// threads <= 0: as many as the machine has.
  explicit ThreadPool(int threads = 0) {
    if (threads <= 0) threads = std::max(1, int(std::thread::hardware_concurrency()));
    workers_.reserve(std::size_t(threads - 1));
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { loop(i); });
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    stop_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& t : workers_) t.join();
  }

  int threads() const { return int(workers_.size()) + 1; }

  /// f(task, worker) for every task in [0, n); returns when all have run. Which worker runs which task is not
  /// fixed: results must not depend on it. f must not throw.
  template <class F>
  void run(int n, F&& f) {
    if (workers_.empty() || n <= 1) {
      for (int i = 0; i < n; ++i) f(i, 0);
      return;
    }
    using G = std::remove_reference_t<F>;
    call_ = [](void* g, int task, int worker) { (*static_cast<G*>(g))(task, worker); };
    argument_ = const_cast<void*>(static_cast<const void*>(&f));
    count_ = n;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(int(workers_.size()), std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    work(0);
    for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) {
      if (!spin([&] { return busy_.load(std::memory_order_acquire) == 0; })) busy_.wait(left);
    }
  }

 private:
  static constexpr int spins = 20000;  // some 0.2..1 ms, by the CPU's pause

  template <class Done>
  static bool spin(Done done) {
    for (int s = 0; s < spins; ++s) {
      if (done()) return true;
      pause();
    }
    return done();
  }
  void work(int worker) {
    for (int task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < count_;)
      call_(argument_, task, worker);
  }
  void loop(int worker) {
    for (unsigned seen = 0;; ++seen) {
      if (!spin([&] { return epoch_.load(std::memory_order_acquire) != seen; })) epoch_.wait(seen);
      while (epoch_.load(std::memory_order_acquire) == seen) epoch_.wait(seen);
      if (stop_.load(std::memory_order_relaxed)) return;
      work(worker);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  void (*call_)(void*, int, int) = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  alignas(64) std::atomic<int> next_{0};
  alignas(64) std::atomic<int> busy_{0};
  alignas(64) std::atomic<unsigned> epoch_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace kern
