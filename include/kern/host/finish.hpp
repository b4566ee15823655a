// What happens between a product and the stored output, and its way back: max-pool, bias, pointwise ops.
#pragma once
#include <cstddef>

#include "../core/simd.hpp"
#include "../core/stage.hpp"
#include "../ops/draw.hpp"

namespace kern::host {

namespace detail {
template <class T>
struct IndexVec {
#ifdef __CUDA_ARCH__
  using type = simd::Lanes<WindowIndex, lanes<T>>;
#else
  typedef WindowIndex type __attribute__((vector_size(lanes<T> * int(sizeof(WindowIndex)))));
#endif
};
/// Element by element.
template <class To, class From>
inline To convert([[maybe_unused]] const From& v) {
#ifdef __CUDA_ARCH__
  return To{};
#else
  return __builtin_convertvector(v, To);
#endif
}
}  // namespace detail
/// As many WindowIndex as a vec<T> has lanes.
template <class T>
using index_vec = typename detail::IndexVec<T>::type;

template <class T>
inline void store_index(WindowIndex* p, const mask<T>& index) {
  const index_vec<T> narrow = detail::convert<index_vec<T>>(index);
  __builtin_memcpy(p, &narrow, sizeof narrow);
}
template <class T>
inline mask<T> load_index(const WindowIndex* p) {
  index_vec<T> narrow;
  __builtin_memcpy(&narrow, p, sizeof narrow);
  return detail::convert<mask<T>>(narrow);
}

/// All bits set in the lanes below n.
template <class T>
inline mask<T> lanes_below(int n) {
  mask<T> m{};
  for (int i = 0; i < lanes<T>; ++i) m[i] = i < n ? -1 : 0;
  return m;
}

/// The largest so far of a window, and its place there. The first of equal ones wins, NaN beats all: as
/// PyTorch has it.
template <class T>
struct Largest {
  vec<T> value;
  mask<T> index{};
  void take(const vec<T>& x, int i) {
    const mask<T> better = (x > value) | (x != x);
    value = better ? x : value;
    index = better ? mask<T>{} + i : index;
  }
};

/// y = chain(x + bias) for V registers of channels from `channel` on, of one sample. Channels that are only
/// padding become 0.
template <class T, int V, class Chain>
class Finish {
 public:
  Finish(ops::Place place, int co, const T* bias, const Chain& chain, ops::Draw draw) {
    for (int v = 0; v < V; ++v) {
      const int channel = place.channel + v * lanes<T>;
      op_[v] = chain.template bind<vec<T>>({place.sample, channel, place.channels}, draw);
      bias_[v] = bias ? load(bias + channel) : vec<T>{};
      real_[v] = lanes_below<T>(co - channel);
    }
  }
  vec<T> operator()(int v, const vec<T>& x, int pixel) const {
    return real_[v] ? op_[v].forward(x + bias_[v], pixel) : vec<T>{};
  }

 private:
  typename Chain::template Bound<vec<T>> op_[V];
  vec<T> bias_[V];
  mask<T> real_[V];
};

/// dL/dy of one sample -> dL/d(what the chain got), in place; its sum over the pixels is added to db, if not
/// null. `d` has y's layout: out_h(), out_w(), out_pitch(), out_origin(), cols.
template <class T, class Stage, class Chain>
void undo_chain(const Stage& d, int co, int sample, const T* y, T* dy, T* db, const Chain& chain,
                ops::Draw draw) {
  for (int channel = 0; channel < d.cols; channel += lanes<T>) {
    const auto op = chain.template bind<vec<T>>({sample, channel, co}, draw);
    vec<T> sum = db ? load(db + channel) : vec<T>{};
    int pixel = 0;
    for (int i = 0; i < d.out_h(); ++i) {
      const int row = d.out_origin() + i * d.out_pitch() + channel;
      for (int j = 0; j < d.out_w(); ++j, ++pixel) {
        const int e = row + j * d.cols;
        const vec<T> g = op.backward(load(dy + e), load(y + e), pixel);
        store(dy + e, g);
        sum += g;
      }
    }
    if (db) store(db + channel, sum);
  }
}

}  // namespace kern::host
