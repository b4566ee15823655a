// A net with chosen weights gives what the formula gives: log-softmax of (1 - 4, 2 + 3).
#include <cmath>
#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;
using Net = Sequential<Flatten, Named<"fc", Linear<4, 2>>, LogSoftmax>;
static_assert(param_count<Net, Input<1, 2, 2>> == 10);

int parameters_of_other();

int main() {
  Model<Net, Input<1, 2, 2>> model{Seed{0}};
  const float weight[] = {1, 0, 0, -1, 0, 1, 1, 0}, bias[] = {0, 0}, image[] = {1, 2, 3, 4};
  model.set_parameter("fc.weight", weight, 8);
  model.set_parameter("fc.bias", bias, 2);
  const auto y = model.predict(TensorView<const float, Shape<1, 2, 2>>(image));  // of (-3, 5)
  const double expected[] = {-8 - std::log1p(std::exp(-8.0)), -std::log1p(std::exp(-8.0))};
  for (int i = 0; i < 2; ++i)
    if (std::abs(double(y.data()[i]) - expected[i]) > 1e-5) {
      std::printf("output %d: expected %g, got %g\n", i, expected[i], double(y.data()[i]));
      return 1;
    }
  if (parameters_of_other() != 10) return 1;
  std::puts("consumer ok");
}
