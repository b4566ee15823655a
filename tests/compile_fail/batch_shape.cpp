// error: batch_shape_mismatch along::width expects<28> gets<32> 1, 28, 28> 1, 28, 32>
// A data set of another picture size than the net's input.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/cross_entropy_loss.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Image = Shape<dyn, 1, 28, 28>;
#else
using Image = Shape<dyn, 1, 28, 32>;
#endif
using Net = Sequential<Flatten, Linear<784, 10>>;

struct Batch {
  TensorView<const float, Image> images;
  std::span<const std::int32_t> labels;
};

int main() {
  Model<Net, Input<1, 28, 28>> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  const float pixels[28 * 32] = {};
  const std::int32_t label = 0;
  trainer.step(Batch{TensorView<const float, Image>(pixels, 1), {&label, 1}});
}
