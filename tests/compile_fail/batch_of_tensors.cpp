// error: batch_shape_mismatch along::features expects<4> gets<5>
// Images and labels apart, the images of another size than the net's input.
#include <kern/kern.hpp>
#include <vector>

using namespace kern;

#ifdef FIXED
constexpr int features = 4;
#else
constexpr int features = 5;
#endif

int main() {
  Model<nn::Linear<4, 2>, Input<4>> model;
  Trainer trainer{model, CrossEntropyLoss{}, Adam{}};
  trainer.step(Tensor<float, Shape<3, features>>{}, std::vector<std::int32_t>(3));
}
