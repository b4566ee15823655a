// Work that is put on a stream once and played many times: a CUDA graph.
#pragma once
#ifdef __CUDACC__
#include <memory>
#include <utility>

#include "stream.hpp"

namespace kern::gpu {

/// What f() puts on the stream of `on` is recorded, not done. The stream is not the default one. All pointers
/// that the work has must live as long as it is played.
class Recording {
 public:
  Recording() = default;
  template <class F>
  Recording(const Cuda& on, F&& f) {
    const OnDevice current(on);
    check(cudaStreamBeginCapture(on.stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture on device ", on.device);
    cudaGraph_t raw = nullptr;
    try {
      f();
    } catch (...) {
      cudaStreamEndCapture(on.stream, &raw);
      if (raw) cudaGraphDestroy(raw);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(on.stream, &raw), "cudaStreamEndCapture on device ", on.device);
    const std::unique_ptr<CUgraph_st, Destroy> graph(raw);
    cudaGraphExec_t program = nullptr;
    check(cudaGraphInstantiate(&program, raw, 0), "cudaGraphInstantiate on device ", on.device);
    program_.reset(program);
  }
  explicit operator bool() const { return program_ != nullptr; }
  /// Puts it all on the stream of `where`, on the device of the recording.
  void play(const Cuda& where) const {
    const OnDevice current(where);
    check(cudaGraphLaunch(program_.get(), where.stream), "cudaGraphLaunch on device ", where.device);
  }

 private:
  struct Destroy {
    void operator()(cudaGraph_t g) const noexcept { cudaGraphDestroy(g); }
    void operator()(cudaGraphExec_t p) const noexcept { cudaGraphExecDestroy(p); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> program_;
};

}  // namespace kern::gpu
#endif
