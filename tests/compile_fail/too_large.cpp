// error: too_large_in_millions_of_elements at_layer<0> expects<1073> gets<2400>
// A weight beyond what an int counts.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
constexpr int out = 10;
#else
constexpr int out = 40000;
#endif

int main() { Model<Sequential<Linear<60000, out>>, Input<60000>> model; }
