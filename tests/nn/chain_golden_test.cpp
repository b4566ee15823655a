// Stages that follow each other, against PyTorch's.
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("convolution after convolution") {
  check_layer<Input<1, 9, 10>, Conv2d<1, 16, 3>, ReLU, Conv2d<16, 8, 3>, ReLU>("conv_conv", 2);
  check_layer<Input<1, 12, 12>, Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>>(
      "conv_conv_pool", 2);
  check_layer<Input<3, 6, 7>, Conv2d<3, 8, 3, 1, 1>, ReLU, Conv2d<8, 6, 5, 1, 2>>("conv_pad_conv_pad", 2);
  check_layer<Input<3, 12, 12>, Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>>(
      "conv_pool_conv_pool_pad", 2);
  check_layer<Input<3, 9, 9>, Conv2d<3, 8, 3>, ReLU, Conv2d<8, 8, 3, 2, 1>, ReLU>("conv_3x3_conv_stride_2",
                                                                                  2);
  check_layer<Input<3, 17, 19>, Conv2d<3, 16, 7, 2, 3>, ReLU, MaxPool2d<3, 2, 1>>("conv_7x7_pad_3_stride_2",
                                                                                  1);
}

TEST_CASE("pointwise first") {
  check_layer<Input<3, 4, 5>, ReLU>("relu_alone", 2);
  check_layer<Input<3, 6, 6>, ReLU, Conv2d<3, 8, 3, 1, 1>>("relu_conv", 2);
}
