// All of kern/cuda. Any compiler may include it; tensors and nets on a device need nvcc.
#pragma once
#include "backend.hpp"
#include "choose_device.hpp"
#include "device.hpp"
#include "doctor.hpp"
#include "error.hpp"
#include "facts.hpp"
#include "memory.hpp"
#include "print.hpp"
#include "random.hpp"
#include "stream.hpp"
#include "tensor.hpp"
