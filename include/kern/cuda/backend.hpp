// CUDA's backend: runs stages on one stream of one GPU, each over the whole batch. The contract is the host's
// (docs/architecture.md). Every sum is added in an order that depends on sizes alone: the same bits from run
// to run.
#pragma once
#ifdef __CUDACC__
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "contraction.cuh"
#include "copy.hpp"
#include "dense.cuh"
#include "elementwise.cuh"
#include "log_softmax.cuh"
#include "memory.hpp"
#include "window.cuh"

namespace kern::gpu {

template <class T>
class Backend {
 public:
  explicit Backend(const Cuda& where) : where_(where) {}

  static constexpr int threads() { return 1; }
  /// Four elements are loaded at once.
  static constexpr int channel_multiple = vec_size;
  /// A thread keeps a window's sums in registers.
  static constexpr bool fuses_pool(int h, int w) { return h * w <= 9; }
  static constexpr bool whole_batches = true;

  template <class U>
  using Memory = Buffer<U>;
  template <class U>
  Memory<U> allocate(std::size_t n) {
    return Buffer<U>(n, where_);
  }

  static std::size_t scratch_size(const Contraction&, int) { return 0; }
  static std::size_t scratch_size(const Dense& d, int n) {
    return std::size_t(parts_of(d)) * std::size_t(n) * std::size_t(d.cols);
  }
  static std::size_t scratch_size(const Window&, int) { return 0; }
  static std::size_t scratch_size(const LogSoftmaxRows&, int) { return 0; }
  void reserve(std::size_t elements) {
    if (elements > scratch_.size()) scratch_ = allocate<T>(elements);
  }
  template <class D>
  static constexpr std::size_t forward_size(const D&) {
    return 0;
  }
  template <class D>
  static constexpr std::size_t backward_size(const D&) {
    return 0;
  }
  static constexpr std::size_t partial_size(const Contraction& c) {
    return std::size_t(gradient_parts) * std::size_t(c.weight_size() + c.cols);
  }
  static constexpr std::size_t partial_size(const Dense&) { return 0; }
  template <class D>
  void prepare_forward(D, const T*, T*) {}
  template <class D>
  void prepare_backward(D, const T*, T*) {}

  template <class U>
  const U* to_host(const U* p, std::size_t n) const {
    return fetch(p, n);
  }
  template <class F>
  void edit(T* p, std::size_t n, F&& f) {
    T* const copy = fetch(p, n);
    f(copy);
    copy_to_device(p, where_, copy, n * sizeof(T));
  }
  const std::int32_t* labels(std::span<const std::int32_t> l) {
    if (labels_.size() < l.size()) labels_ = allocate<std::int32_t>(l.size());
    copy_to_device(labels_.data(), where_, l.data(), l.size_bytes());
    return labels_.data();
  }
  void zero(T* p, std::size_t n) { fill(p, n, T(0), where_); }
  void load(const Entry& e, const T* samples, T* x, int n) {
    const std::size_t count = std::size_t(n) * std::size_t(e.size());
    if (samples_.size() < count) samples_ = allocate<T>(count);
    copy_to_device(samples_.data(), where_, samples, count * sizeof(T));
    run("store_input", std::size_t(n) * std::size_t(e.stored_size()), store_input<T>, e, n, samples_.data(),
        x);
  }

  template <class F>
  void chunks(int n, int, F&& f) {
    f(Slice{0, n, 0}, 0);
  }
  template <class F>
  void rows(int n, const F& f) {
    run("each_row", std::size_t(n), each_row<F>, n, f);
  }
  template <class Op>
  void update(std::size_t n, const Op& op, T* w, const T* g, T* v) {
    run("update", n, update_each<T, Op>, n, op, w, g, v);
  }

  template <class D, class Chain>
  void forward(Slice s, D d, const ForwardPass<T>& p, const Chain& chain, Draw draw) {
    using Stage = typename D::type;
    const Stage c = d.get();
    const int n = s.count();
    if constexpr (std::is_same_v<Stage, Contraction>) {
      constexpr int h = D::value.pool_h, w = D::value.pool_w;  // known for an erased net, too
      const int columns = h * w > 1 ? c.out_w() : (c.out_w() + columns_a_thread - 1) / columns_a_thread;
      run("convolve", items(n, c.out_h(), columns, c.cols / vec_size), convolve<T, h, w, D, Chain>, d,
          s.first, n, p, chain, draw);
    } else if constexpr (std::is_same_v<Stage, Window>) {
      run("window_forward", items(n, c.out_h(), c.out_w(), c.cols / vec_size), window_forward<T, D, Chain>, d,
          s.first, n, p.x, p.y, p.argmax, chain, draw);
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      const int parts = parts_of(c);
      multiply<true, true>(n, c.k, c.cols, {p.x, c.k, 1}, {p.w.weight, c.cols, 1}, scratch_.data(), c.cols,
                           parts);
      run("finish_dense", items(n, 1, 1, c.cols / vec_size), finish_dense<T, Chain>, c, s.first, n,
          scratch_.data(), parts, p.w.bias, p.y, chain, draw);
    } else {
      run("log_softmax_forward", std::size_t(n), log_softmax_forward<T>, c, n, p.x, p.y);
    }
  }

  template <bool DataGradient, class D, class Chain>
  void backward(Slice s, D d, const BackwardPass<T>& p, const Chain& chain, Draw draw) {
    using Stage = typename D::type;
    const Stage c = d.get();
    const int n = s.count();
    if constexpr (std::is_same_v<Stage, Contraction>) {
      undo(d, c.co, s.first, n, p, chain, draw);
      const WindowIndex* const argmax = c.pooled() ? p.argmax : nullptr;
      Grid parts = grid_of(items(c.k() + 1, 1, 1, c.cols / vec_size));
      parts.blocks.y = gradient_parts;
      launch("convolve_weight_gradient", convolve_weight_gradient<T, D>, parts, where_, d, n, p.x, p.dy,
             argmax, p.dw);
      if constexpr (DataGradient)
        run("convolve_data_gradient", items(n, c.h, c.w, (c.ci + vec_size - 1) / vec_size),
            convolve_data_gradient<T, D>, d, n, p.w.weight, p.dy, argmax, p.dx);
    } else if constexpr (std::is_same_v<Stage, Window>) {
      undo(d, c.c, s.first, n, p, chain, draw);
      if constexpr (DataGradient)
        run("window_backward", items(n, c.h, c.w, c.cols / vec_size), window_backward<T, D>, d, n, p.dy,
            c.kh * c.kw > 1 ? p.argmax : nullptr, p.dx);
    } else if constexpr (std::is_same_v<Stage, Dense>) {
      run("undo_dense", std::size_t(c.cols), undo_dense<T, Chain>, c, s.first, n, p.y, p.dy, p.db, chain,
          draw);
      if constexpr (DataGradient) {
        // Its columns are c.k, in fours where they can be.
        multiply<true, false>(n, c.cols, c.k, {p.dy, c.cols, 1}, {p.w.weight, 1, c.cols}, p.dx, c.k, 1);
      }
      multiply<false, true>(c.k, n, c.cols, {p.x, 1, c.k}, {p.dy, c.cols, 1}, p.dw, c.cols, 1);
    } else {
      if constexpr (DataGradient)
        run("log_softmax_backward", std::size_t(n), log_softmax_backward<T>, c, n, p.y, p.dy, p.dx);
    }
  }

  template <class D>
  void gather(D d, const T* partials, std::size_t, int, T* dw, T* db) {
    if constexpr (std::is_same_v<typename D::type, Contraction>) {
      const Contraction c = d.get();
      const int step = c.weight_size() + c.cols;
      run("add_parts", std::size_t(c.weight_size()), add_parts<T>, c.weight_size(), partials, step, dw);
      if (db)
        run("add_parts", std::size_t(c.cols), add_parts<T>, c.cols, partials + c.weight_size(), step, db);
    }
  }

 private:
  static std::size_t items(int n, int h, int w, int groups) {
    return std::size_t(n) * std::size_t(h) * std::size_t(w) * std::size_t(groups);
  }
  /// A linear layer's sum is cut where it is long, to keep more of the device busy.
  static int parts_of(const Dense& d) { return std::clamp(d.k / 256, 1, 32); }

  /// n elements in this program's memory, until the next call.
  template <class U>
  U* fetch(const U* p, std::size_t n) const {
    if (on_host_.size() < n * sizeof(U)) on_host_ = PinnedBuffer<std::byte>(n * sizeof(U));
    copy_to_host(on_host_.data(), p, where_, n * sizeof(U));
    return reinterpret_cast<U*>(on_host_.data());
  }
  /// A thread each.
  template <class... Parameters, class... Arguments>
  void run(const char* name, std::size_t threads, void (*kernel)(Parameters...), Arguments... arguments) {
    launch(name, kernel, grid_of(threads), where_, arguments...);
  }
  template <bool AlongK, bool AlongN>
  void multiply(int rows, int depth, int columns, Matrix<T> a, Matrix<T> b, T* c, int c_step, int parts) {
    const Grid grid{dim3(unsigned((columns + tile_columns - 1) / tile_columns),
                         unsigned((rows + tile_rows - 1) / tile_rows), unsigned(parts)),
                    dim3(256)};
    launch("product", product<AlongK, AlongN, T>, grid, where_, rows, depth, columns, a, b, c, c_step, parts,
           std::ptrdiff_t(rows) * c_step);
  }
  template <class D, class Chain>
  void undo(D d, int channels, int first, int n, const BackwardPass<T>& p, const Chain& chain, Draw draw) {
    const auto c = d.get();
    run("undo_chain", items(n, c.out_h(), c.out_w(), c.cols / vec_size), undo_chain<T, D, Chain>, d, channels,
        first, n, p.y, p.dy, chain, draw);
  }

  Cuda where_;
  Memory<T> scratch_, samples_;
  Memory<std::int32_t> labels_;
  mutable PinnedBuffer<std::byte> on_host_;  // what was fetched last
};

}  // namespace kern::gpu
#endif
