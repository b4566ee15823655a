// error: parameter_shape_mismatch fc.weight expects_shape<7, 10> gets_shape<10, 7>
// A weight that is set turned.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Weight = Shape<7, 10>;
#else
using Weight = Shape<10, 7>;
#endif

int main() {
  Model<Sequential<Named<"fc", Linear<10, 7>>>, Input<10>> model;
  model.set_parameter<"fc.weight">(Tensor<float, Weight>());
}
