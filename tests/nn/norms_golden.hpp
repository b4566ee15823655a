// A training pass of nets with norms, or branches, against PyTorch's: forward and all gradients, the running
// statistics after it, and inference with these.
#pragma once
#include <limits>

#include "layers_golden.hpp"

namespace kern::testing {

/// As for layers; but a bias before a norm has a gradient of 0, the sum of terms that are not: how far float
/// goes there PyTorch's own float pass says, which had them in another order.
template <class T>
void check_norm_array(const GoldenCase& c, const std::string& name, const std::vector<T>& v) {
  CAPTURE(name);
  const GoldenArray& g = golden_array(c, name);
  const double error = g.float_error * double(std::numeric_limits<T>::epsilon()) /
                       double(std::numeric_limits<float>::epsilon());
  const double most = std::max(8 * error, layer_roundings * unit_of<T>(g));
  check_within(g, v, most, most * double(g.count));
}

template <class Net, class In, class T>
std::vector<T> check_norms_in(const char* file, const char* name, int batch, int threads) {
  CAPTURE(name);
  const GoldenCase& c = golden(file, name);
  Model<Net, In, TestDevice, T> model{Seed{0}, test_device(threads)};
  fill(model);
  auto& e = model.executor();
  using Executor = std::remove_reference_t<decltype(e)>;
  const auto x = formula_array<T>(1, std::size_t(batch * model.plan().input.size()));
  const auto dy = formula_array<T>(2, std::size_t(batch * model.plan().output().size()));
  std::vector<T> y(dy.size()), dx(x.size()), all;

  model.read_output(e.forward(x.data(), batch, ops::Draw{Seed{0}, 0, true}), batch, y.data());
  check_norm_array(c, "y", y);
  set_output_gradient(model, batch, dy);
  e.template backward<Executor::stages, true>(batch);
  e.template track<Executor::stages>(batch);
  e.parameters_changed();
  e.input_gradient(batch, dx.data());
  check_norm_array(c, "dx", dx);
  int k = 0;
  for (const std::string& p : model.parameter_names()) {
    check_norm_array(c, "dp" + std::to_string(k++), model.gradient(p));
    for (const T v : model.gradient(p)) all.push_back(v);
  }
  k = 0;
  for (const std::string& b : model.buffer_names())
    check_norm_array(c, "b" + std::to_string(k++), model.buffer(b));
  model.read_output(e.infer(x.data(), batch), batch, y.data());
  check_norm_array(c, "eval", y);
  all.insert(all.end(), dx.begin(), dx.end());
  all.insert(all.end(), y.begin(), y.end());
  return all;
}

}  // namespace kern::testing
