// y = exp x / sum of exp x over rows, or its logarithm, and its way back. A row may be cut into pixels with
// padded channels.
#pragma once
#include <cmath>

#include "../core/device_code.hpp"
#include "../core/stage.hpp"

namespace kern::ops {

/// f(offset) for each of a row's elements; pad(offset) for the padding among them.
template <class F, class Pad>
KERN_HOST_DEVICE void each_of_row(const stage::SoftmaxRows& d, F&& f, Pad&& pad) {
  for (int p = 0, e = 0; p < d.pixels; ++p) {
    for (int j = 0; j < d.c; ++j) f(e++);
    for (int j = d.c; j < d.cols; ++j) pad(e++);
  }
}

/// One sample.
template <class T>
KERN_HOST_DEVICE void softmax_forward(const stage::SoftmaxRows& d, const T* x, T* y) {
  const auto skip = [](int) {};
  for (int r = 0; r < d.rows; ++r, x += d.pixels * d.cols, y += d.pixels * d.cols) {
    T top = x[0], sum = 0;
    each_of_row(d, [&](int e) { top = x[e] > top || x[e] != x[e] ? x[e] : top; }, skip);
    const auto pad = [&](int e) { y[e] = 0; };
    if (d.log) {
      each_of_row(d, [&](int e) { sum += std::exp(x[e] - top); }, skip);
      const T log_sum = std::log(sum);
      each_of_row(d, [&](int e) { y[e] = x[e] - top - log_sum; }, pad);
    } else {
      each_of_row(d, [&](int e) { sum += y[e] = std::exp(x[e] - top); }, skip);
      each_of_row(d, [&](int e) { y[e] /= sum; }, pad);
    }
  }
}

/// One sample: dx = y * (dy - sum of dy * y), or of the logarithm dx = dy - exp(y) * (sum of dy).
template <class T>
KERN_HOST_DEVICE void softmax_backward(const stage::SoftmaxRows& d, const T* y, const T* dy, T* dx) {
  const int step = d.pixels * d.cols;
  for (int r = 0; r < d.rows; ++r, y += step, dy += step, dx += step) {
    T sum = 0;
    const auto skip = [](int) {};
    const auto pad = [&](int e) { dx[e] = 0; };
    if (d.log) {
      each_of_row(d, [&](int e) { sum += dy[e]; }, skip);
      each_of_row(d, [&](int e) { dx[e] = dy[e] - std::exp(y[e]) * sum; }, pad);
    } else {
      each_of_row(d, [&](int e) { sum += dy[e] * y[e]; }, skip);
      each_of_row(d, [&](int e) { dx[e] = y[e] * (dy[e] - sum); }, pad);
    }
  }
}

}  // namespace kern::ops
