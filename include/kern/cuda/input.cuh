// Where a convolution's input comes from: the stage before it or, for a net's first stage, the batch as it
// lies on the device. That one gets its layout, border and, of bytes, values on its way into shared memory.
#pragma once
#include "../core/known.hpp"
#include "vector.cuh"

namespace kern::gpu {

/// A sample as a stage stored it: [h][w][channels], with its border.
template <class T>
struct StoredSample {
  static constexpr bool planes = false;  // neighbours are of one channel, not of one pixel
  const T* x;
  int w, channels;
  __device__ T one(int row, int column, int channel) const { return *at(row, column, channel); }
  __device__ Vec<T> four(int row, int column, int channel) const { return load(at(row, column, channel)); }
  template <class F>
  __device__ void read(F f) const {
    f(*this);
  }

 private:
  __device__ const T* at(int row, int column, int channel) const {
    return x + (row * w + column) * channels + channel;
  }
};

/// A sample of a batch, with a border of zeros around it and channels of zeros behind its own. Bytes: as
/// SamplesAt with a table.
template <class T, class E, bool Bytes>
struct SampleAsGiven {
  static constexpr bool planes = !Bytes;
  E entry;
  std::conditional_t<Bytes, const std::uint8_t*, const T*> x;
  const T* table;
  __device__ T one(int row, int column, int channel) const {
    const Entry e = entry.get();
    row -= e.border_h, column -= e.border_w;
    if (unsigned(row) >= unsigned(e.h) || unsigned(column) >= unsigned(e.w)) return T(0);
    if (e.cols > e.c && channel >= e.c) return T(0);
    if constexpr (Bytes)
      return table[channel * 256 + x[(row * e.w + column) * e.c + channel]];
    else
      return x[(channel * e.h + row) * e.w + column];
  }
  __device__ Vec<T> four(int row, int column, int channel) const {
    Vec<T> v;
#pragma unroll
    for (int l = 0; l < vec_size; ++l) v.at[l] = one(row, column, channel + l);
    return v;
  }
};
/// read(f): f(the sample); what it is made of is asked once, not at each element.
template <class T, class E>
struct BatchSample {
  E entry;
  const void* x;
  const T* table;
  template <class F>
  __device__ void read(F f) const {
    if (table)
      f(SampleAsGiven<T, E, true>{entry, static_cast<const std::uint8_t*>(x), table});
    else
      f(SampleAsGiven<T, E, false>{entry, static_cast<const T*>(x), nullptr});
  }
};

/// A batch, for the kernels of a first stage. E: its Known Entry.
template <class T, class E>
struct BatchInput {
  E entry;
  const StepBlock* block;  // says where the samples are in a step, for its recorded arguments stay
  SamplesAt here;          // else
  __device__ BatchSample<T, E> sample(int i) const {
    const SamplesAt at = block ? block->samples : here;
    const std::ptrdiff_t first = std::ptrdiff_t(at.order ? at.order[i] : unsigned(i)) * entry.get().size();
    const void* const x =
        at.table ? static_cast<const void*>(static_cast<const std::uint8_t*>(at.elements) + first)
                 : static_cast<const T*>(at.elements) + first;
    return {entry, x, static_cast<const T*>(at.table)};
  }
};

/// Sample i of a convolution's input.
template <class T, class E>
__device__ BatchSample<T, E> sample_of(const BatchInput<T, E>& x, const Contraction&, int i) {
  return x.sample(i);
}
template <class T>
__device__ StoredSample<T> sample_of(const T* x, const Contraction& c, int i) {
  return {x + std::ptrdiff_t(i) * c.in_size(), c.w, c.ci};
}

/// x = samples in the stored layout, borders and padding 0, for a first stage that does not read them itself:
/// one stored element a thread.
template <class T, class E>
__global__ void store_input(BatchInput<T, E> samples, int n, T* x) {
  const Entry e = samples.entry.get();
  const long item = long(blockIdx.x) * blockDim.x + threadIdx.x;
  const int stored = int(item % e.stored_size()), sample = int(item / e.stored_size());
  if (sample >= n) return;
  const int channel = stored % e.cols, column = stored / e.cols % (e.w + 2 * e.border_w),
            row = stored / e.pitch();
  samples.sample(sample).read([&](const auto& s) { x[item] = s.one(row, column, channel); });
}

}  // namespace kern::gpu
