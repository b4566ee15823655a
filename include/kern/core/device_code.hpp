// Marks what runs on a GPU, too.
#pragma once

/// Before a function: nvcc compiles it for host and device, other compilers see nothing.
#ifdef __CUDACC__
#define KERN_HOST_DEVICE __host__ __device__
#else
#define KERN_HOST_DEVICE
#endif
