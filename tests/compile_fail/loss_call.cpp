// error: loss_lacks_call_of_output_target_slope_number<Pinball float float int
// A loss as in PyTorch, which knows no slope.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/losses.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;

struct Pinball {
#ifdef FIXED
  template <class T>
  T operator()(T z, T target, T& slope, int) const {
    slope = target > z ? T(-0.9) : T(0.1);
    return slope * (z - target);
  }
#else
  template <class T>
  T operator()(T z, T target) const {
    return target > z ? T(0.9) * (target - z) : T(0.1) * (z - target);
  }
#endif
};

int main() {
  Model<nn::Sequential<nn::Linear<2, 1>>, Input<2>> model;
  Trainer trainer{model, Pinball{}, Sgd{}};
  const Tensor<float, Shape<4, 2>> x;
  const Tensor<float, Shape<4, 1>> y;
  return trainer.step(x, y) > 0;
}
