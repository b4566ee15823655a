// error: two_parameters_are_called encoder.fc.weight
// Two layers of one name.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Second = Named<"fc2", Linear<3, 4>>;
#else
using Second = Named<"fc", Linear<3, 4>>;
#endif
using Net = Sequential<Named<"encoder", Sequential<Named<"fc", Linear<4, 3>>, ReLU, Second>>>;

int main() { Model<Net, Input<4>> model; }
