#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

// region net
using Net =
    Sequential<Named<"conv", Conv2d<1, 8, 5>>, ReLU, MaxPool2d<2>, Flatten, Named<"fc", Linear<1152, 10>>>;
using Image = Input<1, 28, 28>;
// endregion

// region facts
static_assert(param_count<Net, Image> == 8 * 25 + 8 + 1152 * 10 + 10);
static_assert(shape_after<Net, Image, 2> == Dims{8, 12, 12});  // behind the pooling
static_assert(flop_count<Net, Image> == 2 * (24 * 24 * 8 * 25 + 1152 * 10));
// endregion

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "examples/data";
  // region tensors
  auto t = randn<float, Shape<2, 2>>(Seed{0});
  std::printf("%s\n", to_string(t).c_str());  // tensor([[...], [...]])
  // endregion

  // region data
  const data::Compose transform{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}};
  data::DataLoader train{
      data::Mnist{folder, data::Split::train}, transform, {.batch_size = 64, .shuffle = true}};
  data::DataLoader test{data::Mnist{folder, data::Split::test}, transform, {.batch_size = 500}};
  // endregion

  // region train
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (const auto& batch : train) trainer.step(batch);
  const Evaluation result = trainer.evaluate(test);
  std::printf("loss %.3f, accuracy %.3f\n", result.loss, result.accuracy);
  // endregion

  // region predict
  for (const auto& batch : test) {
    const auto scores = model.predict(batch.images);    // Tensor<float, Shape<dyn, 10>>
    const int digit = model.classify(batch.images[0]);  // of the first image alone
    std::printf("%d (label %d), score %.2f\n", digit, int(batch.labels[0]), double(scores(0, digit)));
    break;
  }
  // endregion

  // region parameters
  auto weight =
      model.parameter<"conv.weight">();  // Tensor<float, Shape<8, 1, 5, 5>>: PyTorch's name and layout
  weight(0, 0, 2, 2) = 1;
  model.set_parameter<"conv.weight">(weight);
  const auto gradient = model.gradient<"fc.bias">();  // of the last step
  std::printf("%s\n", to_string(gradient).c_str());
  // endregion

  // region explain
  std::printf("%s\n%s", summary<Net, Image>().c_str(), explain<Net, Image>().c_str());
  // endregion

  // region erased
  using AnySize = Sequential<Conv2d<1, 4, 3>, ReLU, MaxPool2d<2>>;
  Model<erase_shapes<AnySize>, Input<dyn, dyn, dyn>> any{Dims{1, 20, 30}, Seed{0}};
  const auto features = any.predict(TensorView<const float, Shape<dyn, dyn, dyn>>(
      rand<float, Shape<dyn, dyn, dyn>>(Seed{1}, 1, 20, 30).view()));
  std::printf("%d x %d x %d\n", features.extent(0), features.extent(1), features.extent(2));  // 4 x 9 x 14
  // endregion
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
