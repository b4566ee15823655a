// error: loss_targets_shape_mismatch along::dimensions expects<2> gets<3>
// Targets with another number of dimensions, beside the images.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/losses.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Targets = Shape<1, 3>;
#else
using Targets = Shape<1, 3, 1>;
#endif

int main() {
  Model<Sequential<Linear<2, 3>>, Input<2>> model;
  Trainer trainer{model, MSELoss{}, Sgd{}};
  const Tensor<float, Shape<1, 2>> images;
  const Tensor<float, Targets> targets;
  trainer.step(images, targets);
}
