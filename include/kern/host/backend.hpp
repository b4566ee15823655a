// The host's backend: runs stages on CPU threads. It is told descriptors, pointers, pointwise ops and which
// samples; it knows neither tensors nor layers.
//
// Sums are added in an order that depends on values alone: the bits are the same for any number of threads,
// and for sizes known at compile time or not.
#pragma once
#include <algorithm>
#include <cstddef>

#include "../core/round.hpp"
#include "../ops/softmax.hpp"
#include "convolve.hpp"
#include "dense.hpp"
#include "host.hpp"
#include "join.hpp"
#include "lookup.hpp"
#include "norm.hpp"
#include "own_memory.hpp"
#include "pointwise.hpp"
#include "prepare.hpp"
#include "row_norm.hpp"
#include "thread_pool.hpp"
#include "window.hpp"

namespace kern::host {

template <class T>
class Backend : public OwnMemory<T> {
  static constexpr int L = lanes<T>;

 public:
  /// threads <= 0: as many as the machine has.
  explicit Backend(int threads = 0) : pool_(threads) {}
  /// Throws ArgumentError for less than 0.
  explicit Backend(const Host& host) : Backend(checked(host).threads) {}

  int threads() const { return pool_.threads(); }
  /// Channels of every stage's output are stored padded to a multiple of this.
  static constexpr int channel_multiple = lanes<T>;
  /// A pooling of h x w windows side by side can join the convolution before it.
  static constexpr bool fuses_pool(int h, int w) { return h * w <= 16; }

  /// A batch runs through the stages in chunks of a few samples; their gradients are added by gather().
  static constexpr bool whole_batches = false;
  static constexpr bool takes_back_below = false;

  /// Work space that a stage needs a worker, in elements: the caller reserve()s the most over all stages.
  static constexpr std::size_t scratch_size(const Contraction& c, int) {
    return std::max(uses_winograd<T>(c) ? winograd_scratch<T>(c) : convolve_scratch<T>(c),
                    scattered(c) ? scatter_scratch<T>(c) : dense_gradient_scratch<T>(c));
  }
  static constexpr std::size_t scratch_size(const Dense& d, int) { return dense_scratch<T>(d); }
  template <class D>
  static constexpr std::size_t scratch_size(const D&, int) {
    return 0;
  }
  void reserve(std::size_t elements) {
    if (elements <= scratch_elements_) return;
    const std::size_t line = alignment / sizeof(T);
    scratch_elements_ = (elements + line - 1) / line * line;
    scratch_ = Buffer<T>(scratch_elements_ * std::size_t(threads()));
  }

  /// Elements of the weights as prepared for forward and backward, and of a chunk's partial gradient; 0:
  /// none.
  static constexpr std::size_t forward_size(const Contraction& c) {
    return uses_winograd<T>(c) ? std::size_t(winograd_points(c) * c.ci * c.cols) : 0;
  }
  template <class D>
  static constexpr std::size_t forward_size(const D&) {
    return 0;
  }
  static constexpr std::size_t backward_size(const Contraction& c) {
    return std::size_t(scattered(c) ? c.co * turned_kernel<T>(c)
                                    : c.kh * c.kw * c.cols * turned_channels<T>(c));
  }
  static constexpr std::size_t backward_size(const GroupedContraction& c) {
    return std::size_t(c.kh * c.kw * c.group_out() * c.ci);
  }
  static constexpr std::size_t backward_size(const Dense&) { return 0; }
  static constexpr std::size_t partial_size(const Contraction& c) {
    return std::size_t(partial_weights(c) + c.cols);
  }
  template <class D>
  static constexpr std::size_t partial_size(const D& d) {
    return std::size_t(d.weight_size() + d.bias_size());
  }

  template <class D>
  void prepare_forward(D d, const T* weight, T* prepared) {
    host::prepare_forward(pool_, d, weight, prepared);
  }
  template <class D>
  void prepare_backward(D d, const T* weight, T* prepared) {
    host::prepare_backward(pool_, d, weight, prepared);
  }

  /// f(Slice, chunk) for chunks of `size` of n samples, in parallel.
  template <class F>
  void chunks(int n, int size, F&& f) {
    pool_.run((n + size - 1) / size, [&](int chunk, int worker) {
      f(Slice{chunk * size, std::min(n, (chunk + 1) * size), worker}, chunk);
    });
  }
  /// op(w[i], g[i], states[i]...) for each i < n, in parallel, where op changes w and the states; for one
  /// that is null it gets zeros.
  template <class Op, class... State>
  void apply(std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    map(n, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; i += std::size_t(L))  // the buffers have a register of slack
        [&](vec<T> wi, auto... at) {
          op(wi, simd::load(g + i), at...);
          store(w + i, wi);
          ((states ? store(states + i, at) : void()), ...);
        }(simd::load(w + i), (states ? simd::load(states + i) : vec<T>{})...);
    });
  }
  /// f(i) for each i < n, in parallel: a function object that runs on any backend.
  template <class F>
  void each(int n, const F& f) {
    rows(n, f);
  }
  /// The same after the loss, if that is finite.
  template <class F>
  void each_if_finite(int n, const F& f) {
    rows(n, f);
  }
  /// The same in a step: its op `number` of those that set_update() was told.
  template <class Op, class... State>
  void update(int, std::size_t n, const Op& op, T* w, const T* g, State*... states) {
    apply(n, op, w, g, states...);
  }
  /// What reduce() needs for n values behind the results.
  static constexpr std::size_t reduce_size(std::size_t n) { return (n + map_block - 1) / map_block; }
  /// In a step: op's results for n values x, joined in an order that depends on n alone.
  template <class Op>
  void reduce(std::size_t n, const Op& op, const T* x, double* results) {
    double* const parts = results + Op::results;
    map(n, [=](std::size_t begin, std::size_t end) {
      vec<T> all{};
      for (std::size_t i = begin; i < end; i += std::size_t(L))
        all = op.join(all, op.term(simd::load(x + i)));
      double part = 0;
      for (int i = 0; i < L; ++i) part = op.join(part, double(all[i]));
      parts[begin / map_block] = part;
    });
    double total = 0;
    for (std::size_t i = 0; i < reduce_size(n); ++i) total = op.join(total, parts[i]);
    op.finish(total, results);
  }
  /// f(row) for each of n rows, in parallel.
  template <class F>
  void rows(int n, F&& f) {
    split(n, 4 * threads(), [&](int first, int last, int) {
      for (int row = first; row < last; ++row) f(row);
    });
  }
  /// The same, where f(row) sets each[row]. -> their mean.
  template <class F>
  double mean(int n, F&& f, const T* each) {
    rows(n, f);
    return OwnMemory<T>::mean_of(n, each);
  }

  /// y = chain(pool(x * w + bias)), or what else the stage says. A Dense comes for the whole batch.
  template <class D, class Chain>
  void forward(Slice s, D d, const ForwardPass<T>& p, const Chain& chain, ops::Draw draw) {
    using Stage = typename D::type;
    if constexpr (std::is_same_v<Stage, Contraction>) {
      output_rows(s, d.get().out_h(), winograd_band<T>(d.get()),
                  [&](int sample, int first, int last, int worker) {
                    const Contraction c = d.get();
                    const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                                         out = std::ptrdiff_t(sample) * c.out_size();
                    WindowIndex* const argmax = p.argmax ? p.argmax + out : nullptr;
                    const auto direct = [&] {
                      convolve(d, s.first + sample, first, last, p.x + in, p.w.weight, p.w.bias, p.y + out,
                               argmax, chain, draw, scratch(worker));
                    };
                    const auto winograd = [&]<int R>() {
                      convolve_winograd<R>(d, s.first + sample, first, last, p.x + in, p.w.forward, p.w.bias,
                                           p.y + out, argmax, chain, draw, scratch(worker));
                    };
                    with_winograd<T>(d, winograd, direct);
                  });
    } else if constexpr (std::is_same_v<Stage, GroupedContraction>) {
      output_rows(s, d.get().out_h(), 1, [&](int sample, int first, int last, int) {
        const GroupedContraction c = d.get();
        grouped_forward(d, s.first + sample, first, last, p.x + std::ptrdiff_t(sample) * c.in_size(),
                        p.w.weight, p.w.bias, p.y + std::ptrdiff_t(sample) * c.out_size(), chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, Lookup>) {
      output_rows(s, d.get().positions, 1, [&](int sample, int first, int last, int) {
        const Lookup c = d.get();
        lookup_forward(d, s.first + sample, first, last, p.x + std::ptrdiff_t(sample) * c.in_size(),
                       p.w.weight, p.y + std::ptrdiff_t(sample) * c.out_size(), chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, Window>) {
      output_rows(s, d.get().out_h(), 1, [&](int sample, int first, int last, int) {
        const Window c = d.get();
        const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                             out = std::ptrdiff_t(sample) * c.out_size();
        window_forward(d, s.first + sample, first, last, p.x + in, p.y + out,
                       p.argmax ? p.argmax + out : nullptr, chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, Join>) {
      output_rows(s, d.get().h, 1, [&](int sample, int first, int last, int) {
        const Join c = d.get();
        join_forward(d, s.first + sample, first, last, p.x + std::ptrdiff_t(sample) * c.a.size(),
                     p.other + std::ptrdiff_t(sample) * c.b.size(),
                     p.y + std::ptrdiff_t(sample) * c.out_size(), chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, Pointwise> || std::is_same_v<Stage, Norm>) {
      const auto all = [&] {
        if constexpr (std::is_same_v<Stage, Norm>)
          return ops::put_before(ops::ScaleShift < T,
                                 D::value.each_pixel != 0 > {p.w.weight, p.w.bias, d.get().feature_step()},
                                 chain);
        else
          return chain;
      }();
      output_rows(s, d.get().h, 1, [&](int sample, int first, int last, int) {
        const Stage c = d.get();
        pointwise_forward(d, s.first + sample, first, last, p.x + std::ptrdiff_t(sample) * c.in_size(),
                          p.y + std::ptrdiff_t(sample) * c.out_size(), all, draw);
      });
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      const Dense c = d.get();
      constexpr int most_rows = dense_rows, most_cols = 4 * panel * L;
      const int row_blocks = (s.count() + most_rows - 1) / most_rows;
      const int columns = math::round_up((c.cols + threads() - 1) / threads(), panel * L);
      const int width = std::min(columns, most_cols), col_blocks = (c.cols + width - 1) / width;
      pool_.run(row_blocks * col_blocks, [&](int task, int) {
        const int first = task / col_blocks * most_rows, last = std::min(s.count(), first + most_rows);
        const int col = task % col_blocks * width, end = std::min(c.cols, col + width);
        dense_product(last - first, c.k, end - col, Matrix<T>{p.x + std::ptrdiff_t(first) * c.k, c.k, 1},
                      p.w.weight + col, c.cols, p.y + std::ptrdiff_t(first) * c.cols + col, c.cols);
        finish_dense(c, s.first, first, last, col, end, p.w.bias, p.y, chain, draw);
      });
    } else if constexpr (std::is_same_v<Stage, RowNorm>) {
      samples(s, [&](int sample, int) {
        const RowNorm c = d.get();
        row_norm_forward(d, s.first + sample, p.x + std::ptrdiff_t(sample) * c.in_size(), p.w.weight,
                         p.w.bias, p.y + std::ptrdiff_t(sample) * c.out_size(), chain, draw);
      });
    } else {
      samples(s, [&](int sample, int) {
        const SoftmaxRows c = d.get();
        ops::softmax_forward(c, p.x + std::ptrdiff_t(sample) * c.in_size(),
                             p.y + std::ptrdiff_t(sample) * c.out_size());
      });
    }
  }

  /// dy, dL/dy, becomes the gradient of what the chain got; dx (with DataGradient) and the parameters'
  /// gradients follow from it. A Contraction adds the latter to the chunk's partial sums at p.dw.
  template <bool DataGradient, class D, class Chain>
  void backward(Slice s, D d, const BackwardPass<T>& p, const Chain& chain, NoBelow, ops::Draw draw) {
    using Stage = typename D::type;
    if constexpr (std::is_same_v<Stage, Contraction>) {
      for (int sample = 0; sample < s.count(); ++sample) {
        const Contraction c = d.get();
        const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                             out = std::ptrdiff_t(sample) * c.out_size();
        T* const dx = DataGradient ? p.dx + in : nullptr;
        T* const work = scratch(std::max(0, s.worker));
        undo_chain(c, c.co, s.first + sample, p.y + out, p.dy + out, p.dw + partial_weights(c), chain, draw);
        if (scattered(c))
          scatter<DataGradient>(d, p.x + in, p.w.backward, p.dy + out, c.pooled() ? p.argmax + out : nullptr,
                                dx, p.dw, work);
        else
          convolve_backward<DataGradient>(d, p.x + in, p.w.backward, p.dy + out, dx, p.dw, work);
      }
    } else if constexpr (std::is_same_v<Stage, GroupedContraction>) {
      for (int sample = 0; sample < s.count(); ++sample) {
        const GroupedContraction c = d.get();
        const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                             out = std::ptrdiff_t(sample) * c.out_size();
        undo_chain(c, c.co, s.first + sample, p.y + out, p.dy + out, p.dw + c.weight_size(), chain, draw);
        grouped_weight_gradient(d, p.x + in, p.dy + out, p.dw);
        if constexpr (DataGradient) grouped_data_gradient(d, p.w.backward, p.dy + out, p.dx + in);
      }
    } else if constexpr (std::is_same_v<Stage, Lookup>) {
      samples(s, [&](int sample, int) {
        const Lookup c = d.get();
        const std::ptrdiff_t out = std::ptrdiff_t(sample) * c.out_size();
        undo_chain(c, c.c, s.first + sample, p.y + out, p.dy + out, static_cast<T*>(nullptr), chain, draw);
      });
      split(d.get().rows, threads(), [&](int first, int last, int) {
        lookup_gradient(d.get(), s.count(), first, last, p.x, p.dy, p.dw);
      });
    } else if constexpr (std::is_same_v<Stage, Window>) {
      samples(s, [&](int sample, int) {
        const Window c = d.get();
        const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                             out = std::ptrdiff_t(sample) * c.out_size();
        undo_chain(c, c.c, s.first + sample, p.y + out, p.dy + out, static_cast<T*>(nullptr), chain, draw);
        if constexpr (DataGradient)
          window_backward(d, p.dy + out, p.argmax ? p.argmax + out : nullptr, p.dx + in);
      });
    } else if constexpr (std::is_same_v<Stage, Pointwise>) {
      if constexpr (DataGradient)
        samples(s, [&](int sample, int) {
          const Pointwise c = d.get();
          const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size();
          pointwise_backward(d, s.first + sample, p.x + in, p.dy + std::ptrdiff_t(sample) * c.out_size(),
                             p.dx + in, chain, draw);
        });
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      const Dense c = d.get();
      pool_.run(c.cols / L, [&](int task, int) {
        undo_dense(c, s.first, s.count(), task * L, p.y, p.dy, p.db, chain, draw);
      });
      pool_.run((c.k + dense_block - 1) / dense_block, [&](int task, int worker) {
        dense_backward<DataGradient>(c, s.count(), task * dense_block, p.x, p.w.weight, p.dy, p.dx, p.dw,
                                     scratch(worker));
      });
    } else if constexpr (std::is_same_v<Stage, RowNorm>) {
      samples(s, [&](int sample, int) {
        const RowNorm c = d.get();
        const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size(),
                             out = std::ptrdiff_t(sample) * c.out_size();
        undo_chain(c, c.c, s.first + sample, p.y + out, p.dy + out, static_cast<T*>(nullptr), chain, draw);
        row_norm_backward<DataGradient>(d, p.x + in, p.w.weight, p.dy + out,
                                        DataGradient ? p.dx + in : nullptr, p.w.weight ? p.dw : nullptr);
      });
    } else {
      if constexpr (DataGradient)
        samples(s, [&](int sample, int) {
          const SoftmaxRows c = d.get();
          const std::ptrdiff_t at = std::ptrdiff_t(sample) * c.out_size();
          ops::softmax_backward(c, p.y + at, p.dy + at, p.dx + at);
        });
    }
  }

  /// dL/dy -> dL/d(what the chain got), in place.
  template <class D, class Chain>
  void undo(Slice s, D d, const T* y, T* dy, const Chain& chain, ops::Draw draw) {
    samples(s, [&](int sample, int) {
      const auto c = d.get();
      const std::ptrdiff_t out = std::ptrdiff_t(sample) * c.out_size();
      undo_chain(c, c.c, s.first + sample, y + out, dy + out, static_cast<T*>(nullptr), chain, draw);
    });
  }
  template <class D>
  void undo(Slice, D, const T*, T*, const ops::Chain<>&, ops::Draw) {}
  /// dx of a Join's input, after undo().
  template <int Which, class D, class Under>
  void join_backward(Slice s, D d, const T*, const T* dy, T* dx, const Under&, ops::Draw) {
    samples(s, [&](int sample, int) {
      const Join c = d.get();
      host::join_backward<Which>(d, dy + std::ptrdiff_t(sample) * c.out_size(),
                                 dx + std::ptrdiff_t(sample) * c.input(Which).size());
    });
  }
  /// to += from, an image a sample.
  void add(Slice s, const StoredImage& d, const T* from, T* to) {
    samples(s, [&](int sample, int) {
      const std::ptrdiff_t at = std::ptrdiff_t(sample) * d.size();
      add_image(d, from + at, to + at);
    });
  }

  /// Samples whose statistics are one part of a batch's, where a chunk has so many.
  static constexpr int norm_chunk(int, int chunk) { return chunk; }
  /// The most parts that a batch of up to n samples has.
  static constexpr int norm_parts(int n, int chunk) { return (n + chunk - 1) / chunk; }
  /// A chunk's part of a norm's statistics; of the sums that its way back needs, after dy was taken back
  /// through the chain, in place.
  template <class D>
  void norm_measure(Slice s, D d, const T* x, T* parts, int chunk) {
    host::norm_measure(d, s.count(), x, parts + std::ptrdiff_t(chunk) * 2 * d.get().features());
  }
  template <class D, class Chain>
  void norm_sums(Slice s, D d, const T* x, const ops::NormState<T>& state, T* dy, T* parts, int chunk,
                 const Chain& chain, ops::Draw draw) {
    host::norm_sums(d, s.first, s.count(), x, state, dy,
                    parts + std::ptrdiff_t(chunk) * 2 * d.get().features(), chain, draw);
  }
  /// dx from the dy that norm_sums() left and the sums over the whole batch.
  template <class D, class Under>
  void norm_backward(Slice s, D d, const T* x, const ops::NormState<T>& state, const T* dy, T* dx,
                     const Under&, ops::Draw) {
    samples(s, [&](int sample, int) {
      const Norm c = d.get();
      const std::ptrdiff_t in = std::ptrdiff_t(sample) * c.in_size();
      host::norm_backward(d, x + in, state, dy + std::ptrdiff_t(sample) * c.out_size(), dx + in);
    });
  }

  /// dw, [kh][kw][ci][cols], and db (null: no bias) = the sum of `chunks` partial gradients that stand
  /// `stride` elements apart, added in order.
  template <class D>
  void gather(D d, const T* partials, std::size_t stride, int chunks, T* dw, T* db) {
    const auto sum = [=](std::size_t at) {
      vec<T> v = simd::load(partials + at);
      for (int i = 1; i < chunks; ++i) v += simd::load(partials + std::size_t(i) * stride + at);
      return v;
    };
    if constexpr (std::is_same_v<typename D::type, Contraction>) {
      const Contraction c = d.get();
      if (scattered(c)) {
        // [co][kh][kw*ci rounded up] -> [kh][kw*ci][cols]
        const int row = c.kw * c.ci, vectors = turned_row<T>(c), step = turned_kernel<T>(c);
        pool_.run(c.kh * vectors, [=](int task, int) {
          const int a = task / vectors, i = task % vectors * L;
          for (int o = 0; o < c.cols; o += L)
            turn_block<T>(
                [&](int n) {
                  return o + n < c.co ? sum(std::size_t((o + n) * step + a * vectors * L + i)) : vec<T>{};
                },
                [&](int n, const vec<T>& v) {
                  if (i + n < row) store(dw + (a * row + i + n) * c.cols + o, v);
                });
        });
      } else {
        map(std::size_t(c.weight_size()), [=](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; i += std::size_t(L)) store(dw + i, sum(i));
        });
      }
      if (db)
        for (int o = 0; o < c.cols; o += L) store(db + o, sum(std::size_t(partial_weights(c) + o)));
    } else {
      const auto weights = std::size_t(d.get().weight_size()), biases = std::size_t(d.get().bias_size());
      map(weights + (db ? biases : 0), [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; i += std::size_t(L))
          store(i < weights ? dw + i : db + (i - weights), sum(i));
      });
    }
  }
  void finish_gather() {}

 private:
  static const Host& checked(const Host& h) {
    if (h.threads < 0) throw ArgumentError(text("Host: threads: expected at least 0, got ", h.threads));
    return h;
  }
  static constexpr int partial_weights(const Contraction& c) {
    return scattered(c) ? c.co * turned_kernel<T>(c) : c.weight_size();
  }
  static constexpr std::size_t map_block = 16384;
  /// f(begin, end) over blocks of [0, n), in parallel; all but the last end at a multiple of lanes.
  template <class F>
  void map(std::size_t n, F&& f) {
    pool_.run(int((n + map_block - 1) / map_block), [&](int i, int) {
      const std::size_t begin = std::size_t(i) * map_block;
      f(begin, std::min(n, begin + map_block));
    });
  }
  T* scratch(int worker) { return scratch_.data() + std::size_t(worker) * scratch_elements_; }

  /// f(first, last, worker) over [0, n) in about `parts` parts.
  template <class F>
  void split(int n, int parts, F&& f) {
    const int size = std::max(1, (n + parts - 1) / std::max(1, parts));
    pool_.run((n + size - 1) / size,
              [&](int task, int worker) { f(task * size, std::min(n, (task + 1) * size), worker); });
  }
  /// f(sample within the slice, worker).
  template <class F>
  void samples(Slice s, F&& f) {
    if (s.worker != Slice::whole) {
      for (int i = 0; i < s.count(); ++i) f(i, s.worker);
    } else {
      split(s.count(), 4 * threads(), [&](int first, int last, int worker) {
        for (int i = first; i < last; ++i) f(i, worker);
      });
    }
  }
  /// f(sample within the slice, first row, last row, worker): a whole batch that is too small for the threads
  /// is cut within its samples, too; between bands of rows, if there are enough.
  template <class F>
  void output_rows(Slice s, int height, int band, F&& f) {
    if (s.worker != Slice::whole) {
      for (int i = 0; i < s.count(); ++i) f(i, 0, height, s.worker);
      return;
    }
    const int each = math::ceil_div(threads(), std::max(1, s.count()));  // threads for a sample
    const int bands = math::ceil_div(height, band);
    const int size = bands >= each ? math::ceil_div(bands, threads() == 1 ? 1 : 4 * each) * band
                                   : std::max(1, math::ceil_div(height, each));
    const int blocks = math::ceil_div(height, size);
    pool_.run(s.count() * blocks, [&](int task, int worker) {
      const int first = task % blocks * size;
      f(task / blocks, first, std::min(height, first + size), worker);
    });
  }

  ThreadPool pool_;
  Buffer<T> scratch_;
  std::size_t scratch_elements_ = 0;
};

}  // namespace kern::host
