// All optimizers.
#pragma once
#include "adagrad.hpp"
#include "adam.hpp"
#include "rmsprop.hpp"
#include "sgd.hpp"
