// The test device's backend, and how much memory it was asked for.
#pragma once
#include <algorithm>

#include "kern/graph/stage_memory.hpp"
#include "test_device.hpp"

namespace kern::testing {

template <class Base>
struct CountingBackend : Base {
  using Base::Base;
  template <class U>
  typename Base::template Memory<U> allocate(std::size_t n) {
    bytes += n * sizeof(U);
    return Base::template allocate<U>(n);
  }
  std::size_t bytes = 0;
};

/// By how much memory for training grows from batches of up to n samples to those of twice as many.
template <class Net, class In>
std::size_t growth(int n) {
  using T = float;
  using Backend = CountingBackend<TestDevice::Backend<T>>;
  using S = graph::Structure<Net, In, false, Backend>;
  Backend backend{test_device(2)};
  graph::TrainingMemory<S, Backend, T> memory(S::training, backend);
  std::size_t before = 0;
  for (const int samples : {n, 2 * n}) {
    before = backend.bytes;
    backend.bytes = graph::scratch_size<S, Backend>(S::training, samples) * sizeof(T);
    memory.reserve(samples);
    memory.reserved(samples);
  }
  return backend.bytes - before;
}

}  // namespace kern::testing
