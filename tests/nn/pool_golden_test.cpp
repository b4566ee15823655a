// Convolutions with what joins them, and poolings alone, against PyTorch's.
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("convolution, ReLU and pooling in one stage") {
  check_layer<Input<3, 8, 8>, Conv2d<3, 16, 3>, ReLU>("conv_relu", 2);
  check_layer<Input<1, 10, 12>, Conv2d<1, 16, 3>, ReLU, MaxPool2d<2>>("conv_relu_pool", 3);
  check_layer<Input<1, 10, 12>, Conv2d<1, 5, 3>, MaxPool2d<2>, ReLU>("conv_pool_relu", 3);
  check_layer<Input<3, 9, 11>, Conv2d<3, 16, 3>, ReLU, MaxPool2d<2>>("conv_pool_leftover", 2);
  check_layer<Input<3, 12, 11>, Conv2d<3, 16, 3>, MaxPool2d<3>>("conv_pool_3", 2);
  check_layer<Input<3, 7, 10>, Conv2d<3, 8, 3>, ReLU, MaxPool2d<Size2{1, 2}>>("conv_pool_1x2", 2);
  check_layer<Input<3, 13, 12>, Conv2d<3, 8, 3, 2>, ReLU, MaxPool2d<2>>("conv_stride_pool", 2);
}

TEST_CASE("pooling as a stage of its own") {
  check_layer<Input<3, 11, 12>, Conv2d<3, 8, 3>, ReLU, MaxPool2d<3, 2>>("conv_pool_overlap", 2);
  check_layer<Input<3, 9, 10>, Conv2d<3, 8, 3>, MaxPool2d<3, 2, 1>>("conv_pool_padded", 2);
  check_layer<Input<3, 6, 7>, MaxPool2d<2>>("pool_alone", 2);
  check_layer<Input<5, 6, 7>, MaxPool2d<3, 1>>("pool_3_stride_1", 2);
  check_layer<Input<1, 20, 1>, MaxPool2d<Size2{3, 1}, 1>>("pool_column", 1);
  check_layer<Input<1, 14, 14>, Conv2d<1, 4, 3>, MaxPool2d<2>, MaxPool2d<2>>("pool_pool", 2);
}
