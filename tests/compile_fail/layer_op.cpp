// error: layer_lacks<Square layer_part::op
// A layer of one's own that says it is pointwise, but not what it computes.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Square = SiLU;
#else
struct Square {
  static constexpr Lowering lowers_to = Lowering::pointwise;
  static constexpr Rule rule(Dims d) { return {d, {}}; }
  static constexpr auto parameters = std::array<Parameter, 0>{};
  static std::string repr() { return "Square()"; }
};
#endif

int main() { Model<Sequential<Linear<4, 3>, Named<"square", Square>>, Input<4>> model; }
