// What is known of a net before it runs, for static_assert. A net that does not fit its input does not
// compile.
#pragma once
#include "../host/backend.hpp"
#include "checked.hpp"
#include "stage_memory.hpp"

namespace kern {

namespace graph {
/// of(plan of Net).
template <class Net, class In, class Backend, class F>
constexpr auto fact(F of) {
  if constexpr (fits<Net, In, Backend>())
    return of(plan<Net, In, Backend>);
  else
    return Unknowable{};
}
}  // namespace graph

/// The shape of a sample after layer number Layer (counted over all layers, nested ones too; -1: the input).
template <class Net, class In, int Layer = nn::layer_count<Net> - 1>
inline constexpr auto shape_after = graph::fact<Net, In, host::Backend<float>>(
    [](const auto& p) { return Layer < 0 ? p.input : p.dims[std::size_t(Layer < 0 ? 0 : Layer)]; });

/// Trainable numbers, as PyTorch counts them: a std::size_t.
template <class Net, class In>
inline constexpr auto param_count =
    graph::fact<Net, In, host::Backend<float>>([](const auto& p) { return p.parameters; });

/// Floating-point operations of one sample's forward pass, a long: 2 for each multiply-add of a convolution
/// or linear layer by its plain definition; biases, pools and pointwise ops are not counted.
template <class Net, class In>
inline constexpr auto flop_count = graph::fact<Net, In, host::Backend<float>>([](const auto& p) {
  long n = 0;
  for (int i = 0; i < p.stages; ++i) n += 2 * p.stage[std::size_t(i)].multiply_adds();
  return n;
});

/// Bytes by which the memory of training grows with each sample of a batch, where that is large, a
/// std::size_t: input, activations, their gradients, pooling indices, and what sums over parts of the batch
/// take.
template <class Net, class In, class Device = Host, class T = float>
inline constexpr auto workspace_bytes =
    graph::fact<Net, In, typename Device::template Backend<T>>([](const auto& p) {
      using Backend = typename Device::template Backend<T>;
      using S = graph::Structure<Net, In, false, Backend>;
      const auto bytes = [&](int n) {
        return graph::TrainingSizes<S, Backend, T>(p, graph::PartialSums<S, Backend, T>(p), n, 1).bytes() +
               graph::scratch_size<S, Backend>(p, n) * sizeof(T);
      };
      constexpr int large = 1 << 20;  // nothing is split for want of samples
      return (bytes(2 * large) - bytes(large)) / large;
    });

}  // namespace kern
