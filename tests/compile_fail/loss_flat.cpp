// error: loss_needs_a_flat_output at_layer<0> expects<1> gets<3>
// A loss over an image.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/cross_entropy_loss.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net = Sequential<Conv2d<1, 10, 28>, Flatten>;
#else
using Net = Sequential<Conv2d<1, 10, 28>>;
#endif

int main() {
  Model<Net, Input<1, 28, 28>> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
}
