// Activations, softmax and poolings that average, alone and joining others, against PyTorch's.
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("activations whose derivative comes from their output join the stage before") {
  check_layer<Input<3, 10, 10>, Conv2d<3, 9, 3>, LeakyReLU<0.2>, ELU<0.7>, MaxPool2d<2>, Flatten,
              Linear<144, 12>, Tanh, Linear<12, 6>, ELU<>, LeakyReLU<>, Sigmoid>("from_output", 2);
}

TEST_CASE("activations whose derivative needs their input") {
  check_layer<Input<2, 6, 6>, Conv2d<2, 5, 3, 1, 1>, ReLU, GELU<>, AvgPool2d<2>, SiLU, Tanh, Flatten,
              Linear<45, 12>, GELU<Approximate::tanh>, Linear<12, 6>, Hardswish>("from_input", 3);
  check_layer<Input<3, 4, 5>, Identity, LeakyReLU<>, GELU<>, SiLU, Sigmoid, Hardswish, ELU<>, Tanh,
              GELU<Approximate::tanh>>("all_pointwise", 2);
}

TEST_CASE("softmax") {
  check_layer<Input<20>, Linear<20, 10>, Softmax, Linear<10, 3>, ReLU>("softmax_relu", 4);
  check_layer<Input<5, 3, 4>, Softmax, Tanh>("softmax_channels", 2);
}

TEST_CASE("poolings that average") {
  check_layer<Input<3, 13, 14>, AvgPool2d<3, 2, 1>, AvgPool2d<2>, SiLU>("mean_pools", 2);
  check_layer<Input<5, 6, 7>, AvgPool2d<Size2{3, 2}, Size2{1, 2}, 1, CountPadding::off>>("mean_pool_inside",
                                                                                         2);
  check_layer<Input<3, 8, 7>, AdaptiveAvgPool2d<Size2{3, 2}>, ReLU, Conv2d<3, 5, 3, 1, 1>>("adaptive_pool",
                                                                                           2);
  check_layer<Input<9, 8, 7>, ReLU, GlobalAvgPool2d, Flatten, Linear<9, 4>>("global_pool", 3);
}
