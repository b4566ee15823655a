// error: loss_classes_mismatch at_layer<1> expects<10> gets<12>
// A loss for another number of classes than the net has outputs.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/cross_entropy_loss.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

using Net = Sequential<Flatten, Linear<784, 10>>;

int main() {
  Model<Net, Input<1, 28, 28>> model;
#ifdef FIXED
  Trainer trainer{model, CrossEntropyLoss<10>{}, Sgd{}};
#else
  Trainer trainer{model, CrossEntropyLoss<12>{}, Sgd{}};
#endif
}
