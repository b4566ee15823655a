// What is known of a net before it runs, for static_assert.
#pragma once
#include "../host/backend.hpp"
#include "plan.hpp"

namespace kern {

/// The shape of a sample after layer number Layer (counted over all layers, nested ones too; -1: the input).
template <class Net, class In, int Layer = nn::layer_count<Net> - 1>
inline constexpr Dims shape_after = [] {
  constexpr auto& p = graph::plan<Net, In, host::Backend<float>>;
  if constexpr (Layer < 0)
    return p.input;
  else
    return p.dims[std::size_t(Layer)];
}();

/// Trainable numbers, as PyTorch counts them.
template <class Net, class In>
inline constexpr std::size_t param_count = graph::plan<Net, In, host::Backend<float>>.parameters;

/// Floating-point operations of one sample's forward pass: 2 for each multiply-add of a convolution or linear
/// layer by its plain definition; biases, pools and pointwise ops are not counted.
template <class Net, class In>
inline constexpr long flop_count = [] {
  long n = 0;
  for (int i = 0; i < graph::plan<Net, In, host::Backend<float>>.stages; ++i)
    n += 2 * graph::plan<Net, In, host::Backend<float>>.stage[std::size_t(i)].multiply_adds();
  return n;
}();

/// Bytes that training keeps for each sample of a batch: input, activations, their gradients, pooling
/// indices.
template <class Net, class In, class Device = Host, class T = float>
inline constexpr std::size_t workspace_bytes = [] {
  constexpr auto& p = graph::plan<Net, In, typename Device::template Backend<T>>;
  return (std::size_t(p.input_size()) + p.activations + p.activations - p.inner) * sizeof(T) +
         p.indices * sizeof(WindowIndex);
}();

}  // namespace kern
