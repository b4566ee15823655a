// Bytes of the host on their way to a device, while the program goes on.
#pragma once
#ifdef __CUDACC__
#include <cstddef>
#include <cstring>
#include <utility>

#include "memory.hpp"
#include "stream.hpp"

namespace kern::gpu {

/// Two copies of what was sent last: one is being filled while the other may still be on its way.
class Upload {
 public:
  explicit Upload(const Cuda& where) : on_its_way_{Event(where.device), Event(where.device)} {}
  /// Returns when the bytes at `from` may change; they are at `to` before what is put on the stream next.
  void send(void* to, const Cuda& where, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    if (slots_[0].size() < bytes) {
      PinnedBuffer<std::byte> first(bytes), second(bytes);
      for (const Event& e : on_its_way_) e.synchronize();
      slots_[0] = std::move(first), slots_[1] = std::move(second);
    }
    PinnedBuffer<std::byte>& slot = slots_[next_];
    on_its_way_[next_].synchronize();
    std::memcpy(slot.data(), from, bytes);
    {
      const OnDevice on(where);
      check(cudaMemcpyAsync(to, slot.data(), bytes, cudaMemcpyHostToDevice, where.stream), "cudaMemcpyAsync(",
            bytes, " bytes, host to device ", where.device, ")");
    }
    on_its_way_[next_].record(where);
    next_ = 1 - next_;
  }

 private:
  PinnedBuffer<std::byte> slots_[2];
  Event on_its_way_[2];
  int next_ = 0;
};

}  // namespace kern::gpu
#endif
