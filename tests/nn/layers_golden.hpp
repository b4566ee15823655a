// Forward and all gradients of a net against PyTorch's, in double and float.
#pragma once
#include <doctest/doctest.h>

#include "kern/graph/model.hpp"
#include "kern/nn/nn.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

namespace kern::testing {

/// The longest sum in layers.txt has 17 * 9 * ... < 1024 products; the roundings of a float sum of random
/// signs stay well below n: 512 units in all.
inline constexpr double layer_roundings = 512;

template <class Net, class In, class T>
void check_layer_in(const char* name, int batch) {
  CAPTURE(name);
  const GoldenCase& c = golden("layers.txt", name);
  Model<Net, In, TestDevice, T> model{Seed{0}, test_device(2)};
  fill(model);
  auto& e = model.executor();
  const auto& plan = model.plan();
  const Dims in = plan.input, out = plan.output();
  auto x = formula_array<T>(1, std::size_t(batch * in.size()));
  constexpr graph::Stage first = decltype(model)::Executor::structure.stage[0];
  constexpr bool indices = first.kind == graph::Kind::lookup;
  for (T& v : x)
    if (indices) v = T(std::floor((double(v) + 1) / 2 * first.lookup.rows));
  const auto dy = formula_array<T>(2, std::size_t(batch * out.size()));

  std::vector<T> y(dy.size()), trained(dy.size()), dx(x.size());
  model.read_output(e.infer(x.data(), batch), batch, y.data());
  check_close(c, "y", y, layer_roundings);
  model.read_output(e.forward(x.data(), batch, ops::Draw{Seed{0}, 0, true}), batch, trained.data());
  CHECK(trained == y);

  set_output_gradient(model, batch, dy);
  e.template backward<std::remove_reference_t<decltype(e)>::stages, true>(batch);
  e.input_gradient(batch, dx.data());
  if (!indices) check_close(c, "dx", dx, layer_roundings);
  int k = 0;
  for (const std::string& p : model.parameter_names())
    check_close(c, "dp" + std::to_string(k++), model.gradient(p), layer_roundings);
}

/// In float and in double; where KERN_TEST_FLOAT_ONLY says so in float alone, for compilers' time.
template <class In, class... Layers>
void check_layer(const char* name, int batch) {
#ifndef KERN_TEST_FLOAT_ONLY
  check_layer_in<nn::Sequential<Layers...>, In, double>(name, batch);
#endif
  check_layer_in<nn::Sequential<Layers...>, In, float>(name, batch);
}

}  // namespace kern::testing
