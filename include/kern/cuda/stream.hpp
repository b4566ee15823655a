// Streams and events: the order of a device's work.
#pragma once
#ifdef __CUDACC__
#include <utility>

#include "device.hpp"

namespace kern::gpu {

/// Waits until all that is on its stream is done. Throws CudaError, also for what failed there.
inline void synchronize(const Cuda& where) {
  const OnDevice on(where);
  check(cudaStreamSynchronize(where.stream), "cudaStreamSynchronize on device ", where.device);
}

/// A point in a stream's work. Belongs to one device.
class Event {
 public:
  enum class Timing { off, on };
  explicit Event(int device = 0, Timing timing = Timing::off) : device_(device) {
    const OnDevice on(device);
    check(cudaEventCreateWithFlags(&event_, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags on device ", device);
  }
  Event(Event&& e) noexcept : device_(e.device_), event_(std::exchange(e.event_, nullptr)) {}
  Event& operator=(Event&& e) noexcept {
    std::swap(device_, e.device_);
    std::swap(event_, e.event_);
    return *this;
  }
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }
  /// Here: behind what is on the stream now.
  void record(const Cuda& where) {
    const OnDevice on(where);
    check(cudaEventRecord(event_, where.stream), "cudaEventRecord on device ", where.device);
  }
  void synchronize() const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize on device ", device_);
  }
  cudaEvent_t get() const { return event_; }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

/// From one event to a later one, both with Timing::on and reached.
inline float milliseconds(const Event& first, const Event& last) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, first.get(), last.get()), "cudaEventElapsedTime");
  return ms;
}

/// What is put on `then` from now on waits for what is on `first` now. Nothing waits here.
inline void order(const Cuda& first, const Cuda& then) {
  if (first == then) return;
  Event e(first.device);
  e.record(first);
  const OnDevice on(then);
  check(cudaStreamWaitEvent(then.stream, e.get(), 0), "cudaStreamWaitEvent on device ", then.device);
}

/// A stream of its own, independent of the default stream.
class Stream {
 public:
  explicit Stream(int device = 0) : where_{device} {
    const OnDevice on(device);
    check(cudaStreamCreateWithFlags(&where_.stream, cudaStreamNonBlocking),
          "cudaStreamCreateWithFlags on device ", device);
  }
  Stream(Stream&& s) noexcept : where_(std::exchange(s.where_, Cuda{})) {}
  Stream& operator=(Stream&& s) noexcept {
    std::swap(where_, s.where_);
    return *this;
  }
  /// Its work is still done.
  ~Stream() {
    if (where_.stream) cudaStreamDestroy(where_.stream);
  }
  /// For tensors and models: Stream s; t.to(s.where()).
  const Cuda& where() const { return where_; }
  void synchronize() const { gpu::synchronize(where_); }

 private:
  Cuda where_;
};

}  // namespace kern::gpu
#endif
