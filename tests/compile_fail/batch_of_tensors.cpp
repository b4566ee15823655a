// error: batch_image_shape_mismatch expects<4> gets<5>
#include <kern/kern.hpp>

#include <vector>

using namespace kern;

int main() {
  Model<nn::Linear<4, 2>, Input<4>> model;
  Trainer trainer{model, CrossEntropyLoss{}, Adam{}};
  trainer.step(Tensor<float, Shape<3, 5>>{}, std::vector<std::int32_t>(3));
}
