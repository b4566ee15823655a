// Convolutions alone, against PyTorch's (tests/golden/make_golden.py has the same list).
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("convolutions of all kernels, strides and paddings") {
  check_layer<Input<3, 4, 5>, Conv2d<3, 5, 1>>("conv_1x1", 2);
  check_layer<Input<1, 9, 9>, Conv2d<1, 16, 3>>("conv_3x3", 3);
  check_layer<Input<3, 7, 8>, Conv2d<3, 17, 3, 1, 0, Bias::off>>("conv_3x3_no_bias", 2);
  check_layer<Input<3, 9, 7>, Conv2d<3, 16, 5, 1, 2>>("conv_5x5_pad_2", 2);
  check_layer<Input<5, 6, 9>, Conv2d<5, 3, Size2{3, 5}>>("conv_rectangle", 2);
  check_layer<Input<5, 6, 7>, Conv2d<5, 16, Size2{3, 5}, 1, Size2{1, 2}>>("conv_rectangle_pad", 1);
  check_layer<Input<3, 9, 10>, Conv2d<3, 5, 3, 2>>("conv_stride_2", 2);
  check_layer<Input<16, 7, 8>, Conv2d<16, 17, 3, 2, 1>>("conv_stride_2_pad_1", 2);
  check_layer<Input<3, 8, 6>, Conv2d<3, 16, 3, Size2{2, 1}, Size2{1, 0}>>("conv_stride_2_1", 5);
  check_layer<Input<17, 5, 6>, Conv2d<17, 33, 3, 1, 1>>("conv_wide", 2);
  check_layer<Input<3, 5, 5>, Conv2d<3, 4, 5>>("conv_whole_input", 3);
}

TEST_CASE("convolutions in groups, depthwise and dilated ones") {
  check_layer<Input<18, 7, 6>, Conv2d<18, 18, 3, 1, 1, Groups{18}>, ReLU,
              Conv2d<18, 18, Size2{3, 2}, Size2{2, 1}, Size2{0, 1}, Groups{18}, Bias::off>>("conv_depthwise",
                                                                                            3);
  check_layer<Input<6, 9, 9>, Conv2d<6, 9, 3, 1, 0, Groups{3}>, ReLU,
              Conv2d<9, 36, Size2{2, 3}, 2, 1, Groups{9}>, MaxPool2d<2>, Conv2d<36, 34, 1, 1, 0, Groups{2}>>(
      "conv_groups", 3);
  check_layer<Input<3, 9, 10>, Conv2d<3, 18, 3, 1, 2, Dilation{2}>, ReLU,
              Conv2d<18, 5, 3, Size2{1, 2}, Size2{1, 3}, Dilation{1, 3}>>("conv_dilated", 2);
}
