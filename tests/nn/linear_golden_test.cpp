// Linear layers, Flatten and LogSoftmax, against PyTorch's.
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("linear layers") {
  check_layer<Input<7>, Linear<7, 5>>("linear", 3);
  check_layer<Input<33>, Linear<33, 17, Bias::off>>("linear_no_bias", 5);
  check_layer<Input<20>, Linear<20, 40>, ReLU, Linear<40, 10>>("linear_relu_linear", 4);
  check_layer<Input<3, 4, 5>, Flatten, Linear<60, 9>>("flatten_linear", 2);
  check_layer<Input<2, 6, 8>, Conv2d<2, 5, 3>, ReLU, MaxPool2d<2>, Flatten, Linear<30, 20>, ReLU,
              Linear<20, 4>>("conv_flatten_linear", 3);
}

TEST_CASE("log-softmax") {
  check_layer<Input<11>, LogSoftmax>("log_softmax_flat", 3);
  check_layer<Input<5, 3, 4>, LogSoftmax>("log_softmax_channels", 2);
  check_layer<Input<2, 3, 4>, Conv2d<2, 3, 1>, Flatten, LogSoftmax>("log_softmax_flattened", 2);
  check_layer<Input<20>, Linear<20, 10>, LogSoftmax>("linear_log_softmax", 4);
  check_layer<Input<2, 5, 5>, Conv2d<2, 5, 1>, LogSoftmax, Conv2d<5, 4, 3, 1, 1>>("log_softmax_conv", 2);
}
