// Samples on a device, for a net's first stage.
#pragma once
#ifdef __CUDACC__
#include <cstddef>

#include "input.cuh"
#include "launch.cuh"
#include "stream.hpp"
#include "tensor.hpp"

namespace kern::gpu {

/// Where a batch's samples lie, and the stream that has them ready.
struct DeviceSamples {
  SamplesAt at;
  Cuda where;
};

/// An Entry of which only the run time knows the numbers.
using AnyEntry = Known<all_dyn<Entry>()>;

/// out = samples, [n][c][h][w]: one element a thread.
template <class T>
__global__ void write_samples(BatchInput<T, AnyEntry> samples, std::size_t count, T* out) {
  const std::size_t item = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= count) return;
  const Entry e = samples.entry.get();
  const int place = int(item % unsigned(e.size())), pixel = place % (e.h * e.w);
  samples.sample(int(item / unsigned(e.size()))).read([&](const auto& s) {
    out[item] = s.one(pixel / e.w, pixel % e.w, place / (e.h * e.w));
  });
}

/// A batch that no tensor holds: samples of shape S = Shape<dyn, channels, height, width>, or Shape<dyn,
/// features>, that lie on a device as SamplesAt says. A model reads them there; to() makes a tensor of them,
/// which is the batch as a net sees it.
template <class T, class S>
class PickedSamples {
 public:
  using Element = const T;
  using Extents = S;
  static constexpr int rank = S::rank;
  static_assert(rank == 4 || rank == 2);

  PickedSamples(const DeviceSamples& samples, int n) : samples_(samples), extents_(n) {}

  const DeviceSamples& samples() const { return samples_; }
  const Cuda& device() const { return samples_.where; }
  /// The number of elements.
  std::size_t size() const { return extents_.size(); }
  const auto& shape() const { return extents_.all(); }
  int extent(int dimension) const { return extents_[dimension]; }

  Tensor<T, S, Cuda> to(const Cuda& where) const {
    const int c = extent(1), h = rank == 4 ? extent(2) : 1, w = rank == 4 ? extent(3) : 1;
    auto t = Tensor<T, S, Cuda>::zeros(device(), extent(0));
    if (size())
      launch("write_samples", write_samples<T>, grid_of(size()), device(),
             BatchInput<T, AnyEntry>{AnyEntry(Entry{c, h, w, c, 0, 0}), nullptr, samples_.at}, size(),
             t.data().get());
    return where == device() ? std::move(t) : t.to(where);
  }
  Tensor<T, S, Host> to(const Host& host) const { return to(device()).to(host); }

 private:
  DeviceSamples samples_;
  kern::detail::Extents<S> extents_;
};

}  // namespace kern::gpu
#endif
