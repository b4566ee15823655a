// An epoch's progress: a bar that redraws itself on a terminal, a few plain lines elsewhere.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

class Progress {
 public:
  Progress(int epoch, int epochs, std::size_t steps, std::size_t samples)
      : epoch_(epoch), epochs_(epochs), steps_(steps), samples_(samples), terminal_(isatty(STDOUT_FILENO)) {}

  /// After each step: `loss` is the mean of the epoch so far, `done` the samples seen.
  void step(double loss, std::size_t done) {
    ++step_;
    const bool last = step_ == steps_;
    const double s = seconds();
    if (terminal_ ? s - shown_ < 0.1 && !last : !last && step_ * 4 / steps_ == (step_ - 1) * 4 / steps_)
      return;
    shown_ = s;
    const double rate = double(done) / std::max(s, 1e-9), left = double(samples_ - done) / rate;
    if (terminal_) {
      constexpr int width = 24;
      const int filled = int(width * step_ / steps_);
      const std::string bar =
          std::string(std::size_t(filled), '#') + std::string(std::size_t(width - filled), '.');
      std::printf("\repoch %d/%d [%s] %zu/%zu  loss %.4f  %.0f samples/s  %.0f s left\033[K", epoch_, epochs_,
                  bar.c_str(), step_, steps_, loss, rate, left);
      if (last) std::printf("\r\033[K");
    } else {
      std::printf("epoch %d/%d  step %zu/%zu  loss %.4f  %.0f samples/s  %.0f s left\n", epoch_, epochs_,
                  step_, steps_, loss, rate, left);
    }
    std::fflush(stdout);
  }
  /// Since the epoch began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  int epoch_, epochs_;
  std::size_t steps_, samples_, step_ = 0;
  bool terminal_;
  double shown_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
