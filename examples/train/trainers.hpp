// The trainers, one a file.
#pragma once
#include "options.hpp"

void train_mnist(const Options& o);
void train_cifar10(const Options& o);
