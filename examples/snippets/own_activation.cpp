// An activation of one's own: a formula and its derivative, once, for a number and for a register of them; on
// the CPU and on a GPU. Its gradient is checked against differences.
//   g++ -std=c++20 -O3 -march=native -I include examples/snippets/own_activation.cpp -pthread -o own && ./own
#include <cmath>
#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;

// region op
/// y = x / (1 + |x|);  dy/dx = (1 - |y|)^2.
struct SoftsignOp {
  static constexpr bool monotone = true;                   // a max-pool may come before it
  static constexpr ops::Needs needs = ops::Needs::output;  // what its derivative looks at
  static constexpr ops::Keeps keeps = ops::Keeps::sign;    // what of x can be told from y
  template <class V>
  struct Bound {
    KERN_HOST_DEVICE static V magnitude(V x) { return x < V{} ? -x : x; }
    KERN_HOST_DEVICE V forward(V x, int) const { return x / (1 + magnitude(x)); }
    KERN_HOST_DEVICE V backward(V dy, V y, int) const {
      const V left = 1 - magnitude(y);
      return dy * left * left;
    }
  };
  template <class V>
  KERN_HOST_DEVICE Bound<V> bind(Place, Draw) const {
    return {};
  }
};

struct Softsign : nn::Elementwise<SoftsignOp> {
  static std::string repr() { return "Softsign()"; }
};
// endregion

int main() {
  // region check
  const auto op = SoftsignOp{}.bind<double>(Place{}, Draw{});
  double worst = 0;
  for (double x = -2.95; x < 3; x += 0.1) {
    const double h = 1e-6, numeric = (op.forward(x + h, 0) - op.forward(x - h, 0)) / (2 * h);
    worst = std::max(worst, std::abs(op.backward(1, op.forward(x, 0), 0) - numeric));
  }
  std::printf("gradient within 1e-8 of differences: %s\n", worst < 1e-8 ? "yes" : "no");
  // endregion

  // region net
  using Net =
      nn::Sequential<nn::Conv2d<1, 8, 3>, Softsign, nn::MaxPool2d<2>, nn::Flatten, nn::Linear<288, 10>>;
  Model<Net, Input<1, 14, 14>> model{Seed{0}};
  std::printf("%d stages: Softsign runs in the registers of the convolution\n", model.plan().stages);
  // endregion
}
