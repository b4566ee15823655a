// error: dotted_name_is_longer_than_95_characters at_layer<0> n23456789012345678901234
// A dotted name that would have to be cut.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Named<"n", Linear<4, 4>>>;
#else
using Net = Sequential<
    Named<"n23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
          Linear<4, 4>>>;
#endif

int main() { Model<Net, Input<4>> model; }
