// A convolution in groups of channels, or with a dilated kernel, one sample. A register has neighbouring
// channels of one side; what they meet on the other side is the same channels (depthwise), one (all of one
// group), or a few.
#pragma once
#include <algorithm>

#include "../core/known.hpp"
#include "finish.hpp"

namespace kern::host {

/// What the lanes of a register of channels meet on the other side, where groups have other sizes.
enum class Meets { same, one, few };
template <class T>
struct GroupLanes {
  int at[lanes<T>];  // the first channel that lane l meets

  /// Channels [channel, channel + lanes) of `channels`, which come in groups of `group`; of `other` there.
  GroupLanes(int channel, int channels, int group, int other) {
    for (int l = 0; l < lanes<T>; ++l) at[l] = std::min(channel + l, channels - 1) / group * other;
  }
  bool one_group() const { return at[0] == at[lanes<T> - 1]; }
  template <Meets M>
  vec<T> load(const T* p) const {
    if constexpr (M == Meets::same) {
      return simd::load(p + at[0]);
    } else if constexpr (M == Meets::one) {
      return splat(p[at[0]]);
    } else {
      vec<T> v{};
      for (int l = 0; l < lanes<T>; ++l) v[l] = p[at[l]];
      return v;
    }
  }
  /// f.operator()<Meets>(); only what d's type leaves possible is compiled.
  template <class D, class F>
  void with(D d, F&& f) const {
    constexpr bool known = all_known(D::value), depthwise = known && D::value.depthwise();
    if constexpr (!known || depthwise) {
      if (d.get().depthwise()) return f.template operator()<Meets::same>();
    }
    if constexpr (!depthwise) {
      if (one_group())
        f.template operator()<Meets::one>();
      else
        f.template operator()<Meets::few>();
    }
  }
};

/// Pixels of a row, or products of a row of the kernel, that are worked on at a time.
inline constexpr int grouped_run = 4;

/// Output rows [first, last).
template <class T, class D, class Chain>
void grouped_forward(D d, int sample, int first, int last, const T* x, const T* weight, const T* bias, T* y,
                     const Chain& chain, ops::Draw draw) {
  const GroupedContraction s = d.get();
  for (int o = 0; o < s.cols; o += lanes<T>) {
    const Finish<T, 1, Chain> finish({sample, o, s.co}, s.co, bias, chain, draw);
    const GroupLanes<T> in(o, s.co, s.group_out(), s.group_in());
    in.with(d, [&]<Meets M>() {
      const GroupedContraction c = d.get();  // anew: what a type knows is lost in a capture
      for (int i = first; i < last; ++i)
        for (int j = 0; j < c.out_w(); j += grouped_run) {
          const int count = std::min(grouped_run, c.out_w() - j);
          vec<T> sum[grouped_run]{};
          int at[grouped_run];
          for (int r = 0; r < grouped_run; ++r) at[r] = c.in_at(i, j + std::min(r, count - 1), 0, 0);
          const T* w = weight + o;
          for (int a = 0; a < c.kh; ++a)
            for (int b = 0; b < c.kw; ++b) {
              const T* const tap = x + c.tap_at(a, b);
              for (int k = 0; k < c.group_in(); ++k, w += c.cols) {
                const vec<T> v = load(w);
                for (int r = 0; r < grouped_run; ++r)
                  sum[r] = fma<T>(in.template load<M>(tap + at[r] + k), v, sum[r]);
              }
            }
          for (int r = 0; r < count; ++r)
            store(y + c.out_origin() + i * c.out_pitch() + (j + r) * c.cols + o,
                  finish(0, sum[r], i * c.out_w() + j + r));
        }
    });
  }
}

/// [kh][kw][channels in of a group][cols] -> [kh][kw][channels out of a group][ci], for one tap of the
/// kernel.
template <class T>
void turn_grouped(const GroupedContraction& c, int tap, const T* weight, T* turned) {
  const T* const from = weight + tap * c.group_in() * c.cols;
  T* const to = turned + tap * c.group_out() * c.ci;
  for (int o = 0; o < c.group_out(); ++o)
    for (int k = 0; k < c.ci; ++k)
      to[o * c.ci + k] =
          k < c.in ? from[k % c.group_in() * c.cols + k / c.group_in() * c.group_out() + o] : T{};
}

/// dw[a, b, k][o] += sum over pixels of x[.., k] * dy[o]. dy: after undo_chain().
template <class T, class D>
void grouped_weight_gradient(D d, const T* x, const T* dy, T* dw) {
  const GroupedContraction s = d.get();
  for (int o = 0; o < s.cols; o += lanes<T>) {
    const GroupLanes<T> in(o, s.co, s.group_out(), s.group_in());
    in.with(d, [&]<Meets M>() {
      const GroupedContraction c = d.get();
      const int row = c.kw * c.group_in();
      for (int a = 0; a < c.kh; ++a)
        for (int k = 0; k < row; k += grouped_run) {
          const int count = std::min(grouped_run, row - k);
          T* const to = dw + (a * row + k) * c.cols + o;
          vec<T> sum[grouped_run]{};
          int at[grouped_run];
          for (int r = 0; r < grouped_run; ++r) {
            const int e = k + std::min(r, count - 1);
            at[r] = c.tap_at(a, e / c.group_in()) + e % c.group_in();
            if (r < count) sum[r] = load(to + r * c.cols);
          }
          for (int i = 0; i < c.out_h(); ++i)
            for (int j = 0; j < c.out_w(); ++j) {
              const vec<T> g = load(dy + c.out_origin() + i * c.out_pitch() + j * c.cols + o);
              const T* const from = x + c.in_at(i, j, 0, 0);
              for (int r = 0; r < grouped_run; ++r)
                sum[r] = fma<T>(in.template load<M>(from + at[r]), g, sum[r]);
            }
          for (int r = 0; r < count; ++r) store(to + r * c.cols, sum[r]);
        }
    });
  }
}

/// dx, tap by tap. turned: by turn_grouped().
template <class T, class D>
void grouped_data_gradient(D d, const T* turned, const T* dy, T* dx) {
  const GroupedContraction s = d.get();
  std::fill_n(dx, s.in_size(), T{});
  for (int channel = 0; channel < s.ci; channel += lanes<T>) {
    const GroupLanes<T> out(channel, s.in, s.group_in(), s.group_out());
    out.with(d, [&]<Meets M>() {
      const GroupedContraction c = d.get();
      const T* w = turned + channel;
      for (int a = 0; a < c.kh; ++a)
        for (int b = 0; b < c.kw; ++b, w += c.group_out() * c.ci)
          for (int i = 0; i < c.out_h(); ++i)
            for (int j = 0; j < c.out_w(); j += grouped_run) {
              const int count = std::min(grouped_run, c.out_w() - j);
              const T* const g = dy + c.out_origin() + i * c.out_pitch() + j * c.cols;
              T* const to = dx + c.in_at(i, j, a, b) + channel;
              vec<T> sum[grouped_run]{};
              for (int r = 0; r < count; ++r) sum[r] = load(to + r * c.stride_w * c.ci);
              for (int o = 0; o < c.group_out(); ++o) {
                const vec<T> v = load(w + o * c.ci);
                for (int r = 0; r < grouped_run; ++r)
                  sum[r] = fma<T>(out.template load<M>(g + std::min(r, count - 1) * c.cols + o), v, sum[r]);
              }
              for (int r = 0; r < count; ++r) store(to + r * c.stride_w * c.ci, sum[r]);
            }
    });
  }
}

}  // namespace kern::host
