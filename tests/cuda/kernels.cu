// Kernels of stages that the nets of nets.cu do not have, for what ptxas says about them: compiled only.
#include "kern/cuda/grouped.cuh"
#include "kern/cuda/join.cuh"
#include "kern/cuda/lookup.cuh"
#include "kern/cuda/norm.cuh"
#include "kern/cuda/row_norm.cuh"
#include "kern/cuda/window.cuh"
#include "kern/ops/relu.hpp"

namespace kern::gpu {

/// Whose address is taken is compiled.
template <class... Kernels>
void compile(Kernels*...) {}

void compile_kernels() {
  using T = float;
  using Relu = ops::Chain<ops::Relu>;
  // 16 x 16 pixels of 32 channels, without a border.
  using Image = Known<Pointwise{16, 16, 32, 32, 0, 0}>;
  using Under = Below<Image, Relu>;
  constexpr StoredImage image{32, 16, 16, 32, 0, 0};
  using Sum = Known<Join{16, 16, 32, 32, 0, 0, join_sum, image, image}>;
  using Concat = Known<Join{16, 16, 64, 64, 0, 0, join_channels, image, image}>;
  using Depthwise = Known<GroupedContraction{18, 18, 32, 3, 3, 32, 32, 32, 32, 1, 1, 1, 1, 0, 0}>;
  using FourGroups = Known<GroupedContraction{18, 18, 32, 3, 3, 32, 32, 32, 4, 1, 1, 1, 1, 0, 0}>;
  using Pool = Known<Window{16, 16, 32, 32, 2, 2, 2, 2, 0, 0, 0, 0}>;
  compile(grouped_forward<T, Depthwise, Relu>, grouped_data_gradient<T, Depthwise, Under>,
          grouped_weight_gradient<T, Depthwise>, grouped_forward<T, FourGroups, Relu>,
          grouped_data_gradient<T, FourGroups, Under>, grouped_weight_gradient<T, FourGroups>);
  compile(lookup_forward<T, Relu>, lookup_gradient<T>);
  compile(join_forward<T, Sum, Relu>, join_forward<T, Concat, Relu>, join_backward<1, T, Sum, Under>,
          join_backward<1, T, Concat, Under>, add_images<T>);
  compile(row_norm_forward<T, Relu>, row_norm_backward<T, true, Under>, row_norm_weight_gradient<T>);
  compile(norm_measure<T>, norm_sums<T, Relu>, norm_backward<T, Under>);
  compile(window_forward<T, Pool, Relu>, window_backward<T, Pool, Under>);
  compile(pointwise_forward<T, Image, Relu>, pointwise_backward<T, Image, Relu, Under>);
}

}  // namespace kern::gpu
