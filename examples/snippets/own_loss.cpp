#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

// region loss
/// A forecast z that a share q of the targets t lie below: what is too low costs q, what is too high 1 - q.
struct QuantileLoss {
  double q = 0.5;

  template <class T>
  KERN_HOST_DEVICE T operator()(T z, T t, T& slope, int) const {
    slope = z < t ? -T(q) : 1 - T(q);
    return slope * (z - t);
  }
};
// endregion

int main() {
  const auto x = randn<float, Shape<500, 1>>(Seed{1}), noise = randn<float, Shape<500, 1>>(Seed{2});
  Tensor<float, Shape<500, 1>> y;
  for (int i = 0; i < 500; ++i) y(i, 0) = 2 * x(i, 0) + noise(i, 0);

  Model<Sequential<Linear<1, 1>>, Input<1>> model{Seed{0}};
  {
    // region values
    Trainer trainer{model, HuberLoss{.delta = 0.5}, Adam{.lr = 0.05}};
    for (int i = 0; i < 200; ++i) trainer.step(x, y);
    // endregion
  }
  // region train
  Trainer trainer{model, QuantileLoss{.q = 0.9}, Adam{.lr = 0.05}};
  for (int i = 0; i < 200; ++i) trainer.step(x, y);
  // endregion
  const auto z = model.predict(x);
  int below = 0;
  for (int i = 0; i < 500; ++i) below += y(i, 0) < z(i, 0);
  std::printf("%.0f of 10 targets lie below\n", below / 50.0);

  // region check
  const bool right = slope_error(QuantileLoss{.q = 0.9}, 0.25, 1.0) < 1e-8;  // at z = 0.25, t = 1
  // endregion
  std::printf("the slope is %s\n", right ? "right" : "wrong");
}
