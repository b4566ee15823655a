// error: backend_lacks a_model_on_Cuda_is_compiled_by_nvcc
// A compiler of the host alone.
#include <kern/cuda/cuda.hpp>
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;

#ifdef FIXED
using Device = Host;
#else
using Device = Cuda;
#endif

int main() { Model<nn::Sequential<nn::Linear<4, 3>>, Input<4>, Device> model; }
