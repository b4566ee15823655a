// The nets that are counted and measured.
#pragma once
#include "kern/nn/nn.hpp"

namespace kern::bench {
using namespace kern::nn;

/// The first tutorial's, for Input<1, 28, 28>.
using LeNet = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>,
                         Flatten, Linear<4608, 128>, ReLU, Dropout<0.5>, Linear<128, 10>, LogSoftmax>;
/// The second's, for Input<3, 32, 32>.
using Cifar10 = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                           Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;

}  // namespace kern::bench
