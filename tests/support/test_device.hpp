// Where a test's models live: on the host, or, where nvcc compiles the test for it, on a GPU.
#pragma once
#include <vector>

#ifdef KERN_TEST_ON_CUDA
#include "kern/cuda/backend.hpp"
#endif
#include "kern/graph/model.hpp"

namespace kern::testing {

#ifdef KERN_TEST_ON_CUDA
using TestDevice = Cuda;
inline Cuda test_device(int) { return {}; }
#else
using TestDevice = Host;
inline Host test_device(int threads) { return {.threads = threads}; }
#endif

/// dL/d(output) of the last stage, from PyTorch's layout.
template <class Model, class T>
void set_output_gradient(Model& model, int batch, const std::vector<T>& dy) {
  auto& e = model.executor();
  using Executor = std::remove_reference_t<decltype(e)>;
  const graph::Stage& last = model.plan().stage[std::size_t(Executor::stages - 1)];
  const Dims out = model.plan().output();
  e.backend().edit(e.output_gradient(), std::size_t(batch) * std::size_t(last.out_size()), [&](T* g) {
    for (int s = 0; s < batch; ++s)
      for (int k = 0; k < out.c; ++k)
        for (int p = 0; p < out.h * out.w; ++p)
          g[s * last.out_size() + p * last.cols() + k] = dy[std::size_t((s * out.c + k) * out.h * out.w + p)];
  });
}

}  // namespace kern::testing
