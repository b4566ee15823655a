// A backend of plain loops over the formulas of core/stage.hpp: slow, on one thread, and obviously right.
// Tests compare real backends with it, and run the executor without them.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "kern/core/known.hpp"
#include "kern/core/stage.hpp"
#include "kern/host/own_memory.hpp"

namespace kern::testing {

template <class T>
class ReferenceBackend;

struct Reference {
  static constexpr const char* name = "reference";
  template <class T>
  using Backend = ReferenceBackend<T>;
};

template <class T>
class ReferenceBackend : public host::OwnMemory<T> {
 public:
  explicit ReferenceBackend(const Reference&) {}
  static constexpr int threads() { return 1; }
  static constexpr int channel_multiple = 4;
  static constexpr bool fuses_pool(int, int) { return true; }
  template <class D>
  static constexpr std::size_t scratch_size(const D&, int) {
    return 0;
  }
  void reserve(std::size_t) {}
  static constexpr bool whole_batches = false;
  static constexpr bool takes_back_below = false;
  void load(const stage::Entry& e, const T* samples, T* x, int n) {
    for (int s = 0; s < n; ++s)
      for (int c = 0; c < e.c; ++c)
        for (int h = 0; h < e.h; ++h)
          for (int w = 0; w < e.w; ++w)
            x[s * e.stored_size() + e.origin() + h * e.pitch() + w * e.cols + c] =
                samples[s * e.size() + (c * e.h + h) * e.w + w];
  }
  template <class D>
  static constexpr std::size_t forward_size(const D&) {
    return 0;
  }
  template <class D>
  static constexpr std::size_t backward_size(const D&) {
    return 0;
  }
  static constexpr std::size_t partial_size(const stage::Contraction& c) {
    return std::size_t(c.weight_size() + c.cols);
  }
  template <class D>
  void prepare_forward(D, const T*, T*) {}
  template <class D>
  void prepare_backward(D, const T*, T*) {}

  template <class F>
  void chunks(int n, int size, F&& f) {
    for (int i = 0; i * size < n; ++i) f(stage::Slice{i * size, std::min(n, (i + 1) * size), 0}, i);
  }
  template <class Op, class... State>
  void apply(std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    for (std::size_t i = 0; i < n; ++i)
      [&](auto... at) {
        op(w[i], g[i], at...);
        ((states ? void(states[i] = at) : void()), ...);
      }((states ? states[i] : T{})...);
  }
  template <class Op, class... State>
  void update(int, std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    apply(n, op, w, g, states...);
  }
  template <class F>
  void each(int n, const F& f) {
    for (int i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void each_if_finite(int n, const F& f) {
    each(n, f);
  }
  static constexpr std::size_t reduce_size(std::size_t) { return 0; }
  template <class Op>
  void reduce(std::size_t n, const Op& op, const T* x, double* results) {
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total = op.join(total, op.term(double(x[i])));
    op.finish(total, results);
  }
  template <class F>
  double mean(int n, F&& f, const T* each) {
    for (int i = 0; i < n; ++i) f(i);
    return host::OwnMemory<T>::mean_of(n, each);
  }

  template <class D, class Chain>
  void forward(stage::Slice s, D known, const stage::ForwardPass<T>& p, const Chain& chain, ops::Draw draw) {
    for (int i = 0; i < s.count(); ++i) forward_one(known.get(), s.first + i, i, p, chain, draw);
  }
  template <bool DataGradient, class D, class Chain>
  void backward(stage::Slice s, D known, const stage::BackwardPass<T>& p, const Chain& chain, stage::NoBelow,
                ops::Draw draw) {
    const auto d = known.get();
    if constexpr (std::is_same_v<std::remove_const_t<decltype(d)>, stage::Dense>) {
      for (int i = 0; i < d.weight_size(); ++i) p.dw[i] = 0;
      if (p.db)
        for (int o = 0; o < d.cols; ++o) p.db[o] = 0;
    }
    for (int i = 0; i < s.count(); ++i) backward_one<DataGradient>(d, s.first + i, i, p, chain, draw);
  }
  template <class D, class Chain>
  void undo(stage::Slice s, D known, const T* y, T* dy, const Chain& chain, ops::Draw draw) {
    const auto d = known.get();
    const stage::StoredImage image{d.c, d.out_h(), d.out_w(), d.cols, d.border_h, d.border_w};
    for (int i = 0; i < s.count(); ++i, y += image.size(), dy += image.size())
      each_of_image(image, [&](int k, int pixel) {
        const int e = image.at(k, pixel);
        dy[e] = chain.template bind<T>(ops::Place{s.first + i, k, d.c}, draw).backward(dy[e], y[e], pixel);
      });
  }
  template <int Which, class D>
  void join_backward(stage::Slice s, D known, const T*, const T* dy, T* dx, stage::NoBelow, ops::Draw) {
    const stage::Join d = known.get();
    const stage::StoredImage in = d.input(Which);
    for (int i = 0; i < s.count(); ++i, dy += d.out_size(), dx += in.size())
      each_of_image(in, [&](int k, int pixel) {
        const int place = k * in.h * in.w + pixel;  // as PyTorch counts
        dx[in.at(k, pixel)] =
            dy[d.output().at(d.first_channel(Which) + place / (d.h * d.w), place % (d.h * d.w))];
      });
  }
  void add(stage::Slice s, const stage::StoredImage& d, const T* from, T* to) {
    for (int i = 0; i < s.count(); ++i, from += d.size(), to += d.size())
      each_of_image(d, [&](int k, int pixel) { to[d.at(k, pixel)] += from[d.at(k, pixel)]; });
  }
  void finish_gather() {}
  template <class D>
  void gather(D known, const T* partials, std::size_t stride, int chunks, T* dw, T* db) {
    const stage::Contraction c = known.get();
    for (int i = 0; i < c.weight_size() + c.cols; ++i) {
      T sum = 0;
      for (int k = 0; k < chunks; ++k) sum += partials[std::size_t(k) * stride + std::size_t(i)];
      if (i < c.weight_size())
        dw[i] = sum;
      else if (db)
        db[i - c.weight_size()] = sum;
    }
  }

 private:
  template <class Chain>
  void forward_one(const stage::Contraction& c, int sample, int i, const stage::ForwardPass<T>& p,
                   const Chain& chain, ops::Draw draw) {
    const T* x = p.x + std::size_t(i) * std::size_t(c.in_size());
    const std::size_t out = std::size_t(i) * std::size_t(c.out_size());
    for (int o = 0; o < c.co; ++o) {
      const auto op = chain.template bind<T>(ops::Place{sample, o, c.co}, draw);
      for (int r = 0; r < c.out_h(); ++r)
        for (int q = 0; q < c.out_w(); ++q) {
          T top = 0;
          int at = -1;
          for (int a = 0; a < c.pool_h; ++a)
            for (int b = 0; b < c.pool_w; ++b) {
              T sum = 0;
              for (int u = 0; u < c.kh; ++u)
                for (int v = 0; v < c.kw; ++v)
                  for (int k = 0; k < c.ci; ++k)
                    sum += x[(((r * c.pool_h + a) * c.stride_h + u) * c.w + (q * c.pool_w + b) * c.stride_w +
                              v) *
                                 c.ci +
                             k] *
                           p.w.weight[((u * c.kw + v) * c.ci + k) * c.cols + o];
              if (at < 0 || sum > top || std::isnan(sum)) top = sum, at = a * c.pool_w + b;
            }
          const std::size_t e = out + std::size_t(c.out_origin() + r * c.out_pitch() + q * c.cols + o);
          p.y[e] = op.forward(top + (p.w.bias ? p.w.bias[o] : T(0)), r * c.out_w() + q);
          if (p.argmax) p.argmax[e] = stage::WindowIndex(at);
        }
    }
  }
  template <class Chain>
  void forward_one(const stage::Dense& d, int sample, int i, const stage::ForwardPass<T>& p,
                   const Chain& chain, ops::Draw draw) {
    for (int o = 0; o < d.co; ++o) {
      T sum = p.w.bias ? p.w.bias[o] : T(0);
      for (int k = 0; k < d.k; ++k)
        sum += p.x[std::size_t(i) * std::size_t(d.k) + std::size_t(k)] * p.w.weight[k * d.cols + o];
      p.y[i * d.cols + o] = chain.template bind<T>(ops::Place{sample, o, d.co}, draw).forward(sum, 0);
    }
  }
  template <class Chain>
  void forward_one(const stage::Window& d, int sample, int i, const stage::ForwardPass<T>& p,
                   const Chain& chain, ops::Draw draw) {
    const T* x = p.x + std::size_t(i) * std::size_t(d.in_size());
    for (int k = 0; k < d.c; ++k) {
      const auto op = chain.template bind<T>(ops::Place{sample, k, d.c}, draw);
      for (int r = 0; r < d.out_h(); ++r)
        for (int q = 0; q < d.out_w(); ++q) {
          const stage::Span rows = d.rows(r), columns = d.columns(q);
          T top = 0, sum = 0;
          int at = -1;
          for (int h = rows.first; h < rows.last; ++h)
            for (int w = columns.first; w < columns.last; ++w) {
              const T v = x[(h * d.w + w) * d.cols + k];
              sum += v;
              if (at < 0 || v > top || std::isnan(v))
                top = v, at = (h - r * d.stride_h + d.pad_h) * d.kw + w - q * d.stride_w + d.pad_w;
            }
          if (d.pooling != stage::pool_max) top = sum / T(d.divisor(rows, columns));
          const std::size_t e = std::size_t(i) * std::size_t(d.out_size()) +
                                std::size_t(d.out_origin() + r * d.out_pitch() + q * d.cols + k);
          p.y[e] = op.forward(top, r * d.out_w() + q);
          if (p.argmax) p.argmax[e] = stage::WindowIndex(at);
        }
    }
  }
  template <class Chain>
  void forward_one(const stage::Pointwise& d, int sample, int i, const stage::ForwardPass<T>& p,
                   const Chain& chain, ops::Draw draw) {
    for (int k = 0; k < d.c; ++k) {
      const auto op = chain.template bind<T>(ops::Place{sample, k, d.c}, draw);
      for (int r = 0; r < d.h; ++r)
        for (int q = 0; q < d.w; ++q)
          p.y[std::size_t(i) * std::size_t(d.out_size()) +
              std::size_t(d.out_origin() + r * d.out_pitch() + q * d.cols + k)] =
              op.forward(
                  p.x[std::size_t(i) * std::size_t(d.in_size()) + std::size_t((r * d.w + q) * d.cols + k)],
                  r * d.w + q);
    }
  }
  template <class Chain>
  void forward_one(const stage::SoftmaxRows& d, int, int i, const stage::ForwardPass<T>& p, const Chain&,
                   ops::Draw) {
    const std::size_t base = std::size_t(i) * std::size_t(d.in_size());
    for (int r = 0; r < d.rows; ++r) {
      const T* x = p.x + base + std::size_t(r * d.pixels * d.cols);
      T* y = p.y + base + std::size_t(r * d.pixels * d.cols);
      T top = x[0], sum = 0;
      each_of_row(d, [&](int e) { top = std::max(top, x[e]); });
      each_of_row(d, [&](int e) { sum += std::exp(x[e] - top); });
      each_of_row(d, [&](int e) { y[e] = d.log ? x[e] - top - std::log(sum) : std::exp(x[e] - top) / sum; });
    }
  }
  template <class Chain>
  void forward_one(const stage::Join& d, int sample, int i, const stage::ForwardPass<T>& p,
                   const Chain& chain, ops::Draw draw) {
    const stage::StoredImage out = d.output();
    T* const y = p.y + std::size_t(i) * std::size_t(out.size());
    each_of_image(out, [&](int k, int pixel) { y[out.at(k, pixel)] = 0; });
    for (const int which : {0, 1}) {
      const stage::StoredImage in = d.input(which);
      const T* const x = (which == 0 ? p.x : p.other) + std::size_t(i) * std::size_t(in.size());
      each_of_image(in, [&](int k, int pixel) {
        const int place = k * in.h * in.w + pixel;  // as PyTorch counts
        y[out.at(d.first_channel(which) + place / (d.h * d.w), place % (d.h * d.w))] += x[in.at(k, pixel)];
      });
    }
    each_of_image(out, [&](int k, int pixel) {
      T& v = y[out.at(k, pixel)];
      v = chain.template bind<T>(ops::Place{sample, k, d.c}, draw).forward(v, pixel);
    });
  }
  template <class F>
  static void each_of_image(const stage::StoredImage& d, F f) {
    for (int k = 0; k < d.c; ++k)
      for (int pixel = 0; pixel < d.h * d.w; ++pixel) f(k, pixel);
  }
  template <class F>
  static void each_of_row(const stage::SoftmaxRows& d, F f) {
    for (int p = 0; p < d.pixels; ++p)
      for (int k = 0; k < d.c; ++k) f(p * d.cols + k);
  }

  template <bool DataGradient, class Chain>
  void backward_one(const stage::Contraction& c, int sample, int i, const stage::BackwardPass<T>& p,
                    const Chain& chain, ops::Draw draw) {
    const T* x = p.x + std::size_t(i) * std::size_t(c.in_size());
    T* dx = DataGradient ? p.dx + std::size_t(i) * std::size_t(c.in_size()) : nullptr;
    if (DataGradient)
      for (int e = 0; e < c.in_size(); ++e) dx[e] = 0;
    for (int o = 0; o < c.co; ++o) {
      const auto op = chain.template bind<T>(ops::Place{sample, o, c.co}, draw);
      for (int r = 0; r < c.out_h(); ++r)
        for (int q = 0; q < c.out_w(); ++q) {
          const std::size_t e = std::size_t(i) * std::size_t(c.out_size()) +
                                std::size_t(c.out_origin() + r * c.out_pitch() + q * c.cols + o);
          const T g = op.backward(p.dy[e], p.y[e], r * c.out_w() + q);
          p.dw[c.weight_size() + o] += g;
          const int at = c.pooled() ? p.argmax[e] : 0;
          const int h = (r * c.pool_h + at / c.pool_w) * c.stride_h,
                    w = (q * c.pool_w + at % c.pool_w) * c.stride_w;
          for (int u = 0; u < c.kh; ++u)
            for (int v = 0; v < c.kw; ++v)
              for (int k = 0; k < c.ci; ++k) {
                const int from = ((h + u) * c.w + w + v) * c.ci + k,
                          to = ((u * c.kw + v) * c.ci + k) * c.cols + o;
                p.dw[to] += g * x[from];
                if (DataGradient) dx[from] += g * p.w.weight[to];
              }
        }
    }
  }
  template <bool DataGradient, class Chain>
  void backward_one(const stage::Dense& d, int sample, int i, const stage::BackwardPass<T>& p,
                    const Chain& chain, ops::Draw draw) {
    const T* x = p.x + std::size_t(i) * std::size_t(d.k);
    if (DataGradient)
      for (int k = 0; k < d.k; ++k) p.dx[std::size_t(i) * std::size_t(d.k) + std::size_t(k)] = 0;
    for (int o = 0; o < d.co; ++o) {
      const int e = i * d.cols + o;
      const T g = chain.template bind<T>(ops::Place{sample, o, d.co}, draw).backward(p.dy[e], p.y[e], 0);
      if (p.db) p.db[o] += g;
      for (int k = 0; k < d.k; ++k) {
        p.dw[k * d.cols + o] += g * x[k];
        if (DataGradient)
          p.dx[std::size_t(i) * std::size_t(d.k) + std::size_t(k)] += g * p.w.weight[k * d.cols + o];
      }
    }
  }
  template <bool, class Chain>
  void backward_one(const stage::Window& d, int sample, int i, const stage::BackwardPass<T>& p,
                    const Chain& chain, ops::Draw draw) {
    if (!p.dx) return;
    T* dx = p.dx + std::size_t(i) * std::size_t(d.in_size());
    for (int e = 0; e < d.in_size(); ++e) dx[e] = 0;
    for (int k = 0; k < d.c; ++k) {
      const auto op = chain.template bind<T>(ops::Place{sample, k, d.c}, draw);
      for (int r = 0; r < d.out_h(); ++r)
        for (int q = 0; q < d.out_w(); ++q) {
          const std::size_t e = std::size_t(i) * std::size_t(d.out_size()) +
                                std::size_t(d.out_origin() + r * d.out_pitch() + q * d.cols + k);
          const T g = op.backward(p.dy[e], p.y[e], r * d.out_w() + q);
          if (d.pooling == stage::pool_max) {
            const int at = p.argmax[e];
            const int h = r * d.stride_h - d.pad_h + at / d.kw, w = q * d.stride_w - d.pad_w + at % d.kw;
            dx[(h * d.w + w) * d.cols + k] += g;
          } else {
            const stage::Span rows = d.rows(r), columns = d.columns(q);
            for (int h = rows.first; h < rows.last; ++h)
              for (int w = columns.first; w < columns.last; ++w)
                dx[(h * d.w + w) * d.cols + k] += g / T(d.divisor(rows, columns));
          }
        }
    }
  }
  template <bool, class Chain>
  void backward_one(const stage::Pointwise& d, int sample, int i, const stage::BackwardPass<T>& p,
                    const Chain& chain, ops::Draw draw) {
    if (!p.dx) return;
    for (int k = 0; k < d.c; ++k) {
      const auto op = chain.template bind<T>(ops::Place{sample, k, d.c}, draw);
      for (int r = 0; r < d.h; ++r)
        for (int q = 0; q < d.w; ++q) {
          const std::size_t in = std::size_t(i) * std::size_t(d.in_size()) +
                                 std::size_t((r * d.w + q) * d.cols + k),
                            out = std::size_t(i) * std::size_t(d.out_size()) +
                                  std::size_t(d.out_origin() + r * d.out_pitch() + q * d.cols + k);
          p.dx[in] = op.backward_from_input(p.dy[out], p.x[in], r * d.w + q);
        }
    }
  }
  template <bool, class Chain>
  void backward_one(const stage::SoftmaxRows& d, int, int i, const stage::BackwardPass<T>& p, const Chain&,
                    ops::Draw) {
    if (!p.dx) return;
    const std::size_t base = std::size_t(i) * std::size_t(d.in_size());
    for (int r = 0; r < d.rows; ++r) {
      const std::size_t at = base + std::size_t(r * d.pixels * d.cols);
      T sum = 0;
      for (int e = 0; e < d.pixels * d.cols; ++e) p.dx[at + std::size_t(e)] = 0;
      const T *y = p.y + at, *dy = p.dy + at;
      each_of_row(d, [&](int e) { sum += d.log ? dy[e] : dy[e] * y[e]; });
      each_of_row(d, [&](int e) {
        p.dx[at + std::size_t(e)] = d.log ? dy[e] - std::exp(y[e]) * sum : y[e] * (dy[e] - sum);
      });
    }
  }
};

}  // namespace kern::testing
