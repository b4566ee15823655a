// All layers.
#pragma once
#include "conv2d.hpp"
#include "dropout.hpp"
#include "flatten.hpp"
#include "linear.hpp"
#include "log_softmax.hpp"
#include "max_pool2d.hpp"
#include "relu.hpp"
#include "sequential.hpp"
