// y = x - log(sum of exp x), and its way back, pixel by pixel.
#pragma once
#include <cmath>
#include <cstddef>

#include "../core/stage.hpp"

namespace kern::host {

template <class T>
void log_softmax_forward(const LogSoftmaxRows& d, const T* x, T* y) {
  for (int p = 0; p < d.pixels; ++p, x += d.cols, y += d.cols) {
    T top = x[0], sum = 0;
    for (int j = 1; j < d.c; ++j)
      if (x[j] > top || x[j] != x[j]) top = x[j];
    for (int j = 0; j < d.c; ++j) sum += std::exp(x[j] - top);
    const T log_sum = std::log(sum);
    for (int j = 0; j < d.c; ++j) y[j] = x[j] - top - log_sum;
    for (int j = d.c; j < d.cols; ++j) y[j] = 0;
  }
}

/// dx = dy - exp(y) * (sum of dy)
template <class T>
void log_softmax_backward(const LogSoftmaxRows& d, const T* y, const T* dy, T* dx) {
  for (int p = 0; p < d.pixels; ++p, y += d.cols, dy += d.cols, dx += d.cols) {
    T sum = 0;
    for (int j = 0; j < d.c; ++j) sum += dy[j];
    for (int j = 0; j < d.c; ++j) dx[j] = dy[j] - std::exp(y[j]) * sum;
    for (int j = d.c; j < d.cols; ++j) dx[j] = 0;
  }
}

}  // namespace kern::host
