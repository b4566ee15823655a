// error: loss_targets_shape_mismatch along::features expects<3> gets<4>
// Targets of another shape than the net's output.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/losses.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Targets = Shape<dyn, 3>;
#else
using Targets = Shape<dyn, 4>;
#endif

struct Batch {
  TensorView<const float, Shape<dyn, 2>> images;
  TensorView<const float, Targets> labels;
};

int main() {
  Model<Sequential<Linear<2, 3>>, Input<2>> model;
  Trainer trainer{model, MSELoss{}, Sgd{}};
  const float values[4] = {};
  trainer.step(
      Batch{TensorView<const float, Shape<dyn, 2>>(values, 1), TensorView<const float, Targets>(values, 1)});
}
