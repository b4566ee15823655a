// A model works in memory of its own: one thread at a time.
#pragma once
#include <atomic>

#include "../core/error.hpp"

namespace kern::graph {

/// As long as it lives, the model behind `busy` is at work. Throws Error if it is already.
class AtWork {
 public:
  explicit AtWork(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true, std::memory_order_acquire))
      throw Error(
          "this model is already at work, in another thread or in a call that this one is within: it works "
          "in memory of its own, so give each thread a model");
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() { busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& busy_;
};

}  // namespace kern::graph
