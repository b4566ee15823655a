// An epoch's progress: on a terminal, a bar that redraws itself.
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
    const double s = seconds();
    if (!terminal_ || s - shown_ < 0.1) return;
    shown_ = s;
    constexpr int width = 24;
    const int filled = int(width * step_ / steps_);
    const std::string bar =
        std::string(std::size_t(filled), '#') + std::string(std::size_t(width - filled), '.');
    const double rate = double(done) / std::max(s, 1e-9);
    std::printf("\repoch %d/%d [%s] %zu/%zu  loss %.4f  %.0f images/s  %.0f s left\033[K", epoch_, epochs_,
                bar.c_str(), step_, steps_, loss, rate, double(samples_ - done) / rate);
    std::fflush(stdout);
  }
  /// Makes room for a line; the next step draws the bar below it.
  void clear() {
    if (terminal_) std::printf("\r\033[K");
    shown_ = -1;
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
