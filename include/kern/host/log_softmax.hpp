// y = x - log(sum of exp x), and its way back, row by row.
#pragma once
#include <cmath>
#include <cstddef>

#include "../core/stage.hpp"

namespace kern::host {

/// f(index within the row) for each of a row's values.
template <class F>
void each_in_row(const LogSoftmaxRows& d, F&& f) {
  for (int p = 0; p < d.pixels; ++p)
    for (int j = 0; j < d.c; ++j) f(p * d.cols + j);
}
/// Zeros in the padding of a row.
template <class T>
void clear_padding(const LogSoftmaxRows& d, T* row) {
  for (int p = 0; p < d.pixels; ++p)
    for (int j = d.c; j < d.cols; ++j) row[p * d.cols + j] = 0;
}

template <class T>
void log_softmax_forward(const LogSoftmaxRows& d, const T* x, T* y) {
  const int step = d.pixels * d.cols;
  for (int r = 0; r < d.rows; ++r, x += step, y += step) {
    T top = x[0], sum = 0;
    each_in_row(d, [&](int i) {
      if (x[i] > top || x[i] != x[i]) top = x[i];
    });
    each_in_row(d, [&](int i) { sum += std::exp(x[i] - top); });
    const T log_sum = std::log(sum);
    each_in_row(d, [&](int i) { y[i] = x[i] - top - log_sum; });
    clear_padding(d, y);
  }
}

/// dx = dy - exp(y) * (sum of dy)
template <class T>
void log_softmax_backward(const LogSoftmaxRows& d, const T* y, const T* dy, T* dx) {
  const int step = d.pixels * d.cols;
  for (int r = 0; r < d.rows; ++r, y += step, dy += step, dx += step) {
    T sum = 0;
    each_in_row(d, [&](int i) { sum += dy[i]; });
    each_in_row(d, [&](int i) { dx[i] = dy[i] - std::exp(y[i]) * sum; });
    clear_padding(d, dx);
  }
}

}  // namespace kern::host
