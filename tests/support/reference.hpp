// A stage as its formulas in core/stage.hpp read, in double, one loop an index: what the kernels are checked
// against. Inputs are small integers, so that every sum is exact in float: results must be equal, not close.
#pragma once
#include <cmath>
#include <kern/core/philox.hpp>
#include <kern/core/stage.hpp>
#include <vector>

namespace kern::test {

using Doubles = std::vector<double>;

/// Integers in [-most, most]; a part `zeros` of them 0.
class Integers {
 public:
  explicit Integers(std::uint32_t stream) : stream_(stream) {}
  double operator()(int most, double zeros = 0) {
    const auto r = rng::draw(Seed{7}, rng::Stream::tensor, stream_, 0, count_++);
    if (rng::uniform(r[0]) < zeros) return 0;
    return double(int(r[1] % std::uint32_t(2 * most + 1)) - most);
  }

 private:
  std::uint32_t stream_, count_ = 0;
};

struct Reference {
  Doubles y, dx, dw, db;
  std::vector<int> winner;  // index within the window, y's layout
};

inline bool larger(double a, double b) { return a > b || a != a; }

/// `n` samples whose first is number `first` of its batch; elements that are not outputs stay NaN in y.
template <class Chain>
Reference contraction(const stage::Contraction& c, int first, int n, const Doubles& x, const Doubles& w,
                      const Doubles& bias, const Doubles& dy, const Chain& chain, ops::Draw draw) {
  const auto in = [&](int s, int i, int j, int k) {
    return std::size_t(s * c.in_size() + (i * c.w + j) * c.ci + k);
  };
  const auto out = [&](int s, int i, int j, int o) {
    return std::size_t(s * c.out_size() + c.out_origin() + i * c.out_pitch() + j * c.cols + o);
  };
  const auto weight = [&](int a, int b, int k, int o) {
    return std::size_t(((a * c.kw + b) * c.ci + k) * c.cols + o);
  };
  const std::size_t outs = std::size_t(n * c.out_size());
  Reference r{Doubles(outs, 0.0), Doubles(std::size_t(n * c.in_size()), 0.0),
              Doubles(std::size_t(c.weight_size()), 0.0), Doubles(std::size_t(c.cols), 0.0),
              std::vector<int>(outs, 0)};
  for (int s = 0; s < n; ++s)
    for (int i = 0; i < c.out_h(); ++i)
      for (int j = 0; j < c.out_w(); ++j)
        for (int o = 0; o < c.co; ++o) {
          double top = 0;
          int winner = -1;
          for (int p = 0; p < c.pool_h; ++p)
            for (int q = 0; q < c.pool_w; ++q) {
              const int row = (i * c.pool_h + p) * c.stride_h, column = (j * c.pool_w + q) * c.stride_w;
              double sum = 0;
              for (int a = 0; a < c.kh; ++a)
                for (int b = 0; b < c.kw; ++b)
                  for (int k = 0; k < c.ci; ++k)
                    sum += x[in(s, row + a, column + b, k)] * w[weight(a, b, k, o)];
              if (winner < 0 || larger(sum, top)) top = sum, winner = p * c.pool_w + q;
            }
          const auto op = chain.template bind<double>({first + s, o, c.co}, draw);
          const double y = op.forward(bias.empty() ? top : top + bias[std::size_t(o)], i * c.out_w() + j);
          r.y[out(s, i, j, o)] = y;
          r.winner[out(s, i, j, o)] = winner;
          if (dy.empty()) continue;
          const double g = op.backward(dy[out(s, i, j, o)], y, i * c.out_w() + j);
          r.db[std::size_t(o)] += g;
          const int row = (i * c.pool_h + winner / c.pool_w) * c.stride_h;
          const int column = (j * c.pool_w + winner % c.pool_w) * c.stride_w;
          for (int a = 0; a < c.kh; ++a)
            for (int b = 0; b < c.kw; ++b)
              for (int k = 0; k < c.ci; ++k) {
                r.dw[weight(a, b, k, o)] += x[in(s, row + a, column + b, k)] * g;
                r.dx[in(s, row + a, column + b, k)] += w[weight(a, b, k, o)] * g;
              }
        }
  return r;
}

template <class Chain>
Reference dense(const stage::Dense& d, int first, int n, const Doubles& x, const Doubles& w,
                const Doubles& bias, const Doubles& dy, const Chain& chain, ops::Draw draw) {
  Reference r{Doubles(std::size_t(n * d.cols), 0.0),
              Doubles(std::size_t(n * d.k), 0.0),
              Doubles(std::size_t(d.weight_size()), 0.0),
              Doubles(std::size_t(d.cols), 0.0),
              {}};
  for (int s = 0; s < n; ++s)
    for (int o = 0; o < d.co; ++o) {
      double sum = bias.empty() ? 0 : bias[std::size_t(o)];
      for (int k = 0; k < d.k; ++k) sum += x[std::size_t(s * d.k + k)] * w[std::size_t(k * d.cols + o)];
      const auto op = chain.template bind<double>({first + s, o, d.co}, draw);
      const double y = op.forward(sum, 0);
      r.y[std::size_t(s * d.cols + o)] = y;
      if (dy.empty()) continue;
      const double g = op.backward(dy[std::size_t(s * d.cols + o)], y, 0);
      r.db[std::size_t(o)] += g;
      for (int k = 0; k < d.k; ++k) {
        r.dw[std::size_t(k * d.cols + o)] += x[std::size_t(s * d.k + k)] * g;
        r.dx[std::size_t(s * d.k + k)] += w[std::size_t(k * d.cols + o)] * g;
      }
    }
  return r;
}

/// PyTorch's windows of an adaptive pooling: from floor(i n / bins) up to ceil((i + 1) n / bins).
inline bool in_bin(int x, int i, int n, int bins) {
  return x >= std::floor(double(i) * n / bins) && x < std::ceil(double(i + 1) * n / bins);
}
template <class Chain>
Reference window(const stage::Window& d, int first, int n, const Doubles& x, const Doubles& dy,
                 const Chain& chain, ops::Draw draw) {
  const std::size_t outs = std::size_t(n * d.out_size());
  Reference r{
      Doubles(outs, 0.0), Doubles(std::size_t(n * d.in_size()), 0.0), {}, {}, std::vector<int>(outs, 0)};
  for (int s = 0; s < n; ++s)
    for (int i = 0; i < d.out_h(); ++i)
      for (int j = 0; j < d.out_w(); ++j)
        for (int c = 0; c < d.c; ++c) {
          double top = 0, sum = 0;
          int winner = -1;
          std::size_t from = 0;
          std::vector<std::size_t> inside;
          for (int row = 0; row < d.h; ++row)
            for (int column = 0; column < d.w; ++column) {
              const int a = row - i * d.stride_h + d.pad_h, b = column - j * d.stride_w + d.pad_w;
              const bool in = d.bins_h > 0 ? in_bin(row, i, d.h, d.bins_h) && in_bin(column, j, d.w, d.bins_w)
                                           : a >= 0 && a < d.kh && b >= 0 && b < d.kw;
              if (!in) continue;
              const auto at = std::size_t(s * d.in_size() + (row * d.w + column) * d.cols + c);
              inside.push_back(at);
              sum += x[at];
              if (winner < 0 || larger(x[at], top)) top = x[at], winner = a * d.kw + b, from = at;
            }
          const double divisor = d.pooling == stage::pool_mean ? d.kh * d.kw : double(inside.size());
          if (d.pooling != stage::pool_max) top = sum / divisor;
          const auto e = std::size_t(s * d.out_size() + d.out_origin() + i * d.out_pitch() + j * d.cols + c);
          const auto op = chain.template bind<double>({first + s, c, d.c}, draw);
          r.y[e] = op.forward(top, i * d.out_w() + j);
          r.winner[e] = winner;
          if (dy.empty()) continue;
          const double g = op.backward(dy[e], r.y[e], i * d.out_w() + j);
          if (d.pooling == stage::pool_max)
            r.dx[from] += g;
          else
            for (const std::size_t at : inside) r.dx[at] += g / divisor;
        }
  return r;
}

}  // namespace kern::test
