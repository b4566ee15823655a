// Convolutions with what joins them, poolings alone, and embeddings, against PyTorch's.
#include <algorithm>

#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/trainer.hpp"
#include "layers_golden.hpp"

using namespace kern;
using namespace kern::nn;
using testing::check_layer;

TEST_CASE("convolution, ReLU and pooling in one stage") {
  check_layer<Input<3, 8, 8>, Conv2d<3, 16, 3>, ReLU>("conv_relu", 2);
  check_layer<Input<1, 10, 12>, Conv2d<1, 16, 3>, ReLU, MaxPool2d<2>>("conv_relu_pool", 3);
  check_layer<Input<1, 10, 12>, Conv2d<1, 5, 3>, MaxPool2d<2>, ReLU>("conv_pool_relu", 3);
  check_layer<Input<3, 9, 11>, Conv2d<3, 16, 3>, ReLU, MaxPool2d<2>>("conv_pool_leftover", 2);
  check_layer<Input<3, 12, 11>, Conv2d<3, 16, 3>, MaxPool2d<3>>("conv_pool_3", 2);
  check_layer<Input<3, 7, 10>, Conv2d<3, 8, 3>, ReLU, MaxPool2d<Size2{1, 2}>>("conv_pool_1x2", 2);
  check_layer<Input<3, 13, 12>, Conv2d<3, 8, 3, 2>, ReLU, MaxPool2d<2>>("conv_stride_pool", 2);
}

TEST_CASE("embeddings: their mean, all of them, a convolution along them") {
  check_layer<Input<7>, Embedding<11, 18>, GlobalAvgPool2d, Flatten, Linear<18, 4>>("embedding_mean", 5);
  check_layer<Input<6>, Embedding<9, 5, -7>, Tanh, Flatten, Linear<30, 3>>("embedding_flat", 4);
  check_layer<Input<8>, Embedding<2000, 6>, Conv2d<6, 8, Size2{3, 1}, 1, Size2{1, 0}>, ReLU,
              MaxPool2d<Size2{2, 1}>, Flatten, Linear<32, 3>>("embedding_conv", 3);
}

TEST_CASE("what is no index of an embedding is named") {
  using Net = Sequential<Embedding<11, 3, 0>, GlobalAvgPool2d, Flatten>;
  Model<Net, Input<4>, testing::TestDevice> model{Seed{3}, testing::test_device(1)};
  const std::vector<float> weight = model.parameter("0.weight");
  CHECK(std::all_of(weight.begin(), weight.begin() + 3, [](float w) { return w == 0; }));
  CHECK(std::all_of(weight.begin() + 3, weight.end(), [](float w) { return w != 0; }));
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  Tensor<float, Shape<dyn, 4>> x(2);
  for (int i = 0; i < 8; ++i) x.data()[i] = float(i);
  const std::vector<std::int32_t> labels{0, 1};
  trainer.step(x, labels);
  CHECK(model.parameter("0.weight")[0] == 0);
  const std::vector<float> before = model.parameter("0.weight");
  const auto refuses = [&](float index, const std::string& got) {
    x.data()[6] = index;
    const std::string what =
        "index at position 2 of sample 1 in the batch: expected a whole number from 0 to 10 (num_embeddings "
        "11), "
        "got " +
        got;
    CHECK_THROWS_WITH_AS(trainer.step(x, labels), what.c_str(), DataError);
    CHECK_THROWS_WITH_AS(model.predict(x), what.c_str(), DataError);
  };
  refuses(11, "11");
  refuses(-1, "-1");
  refuses(2.5f, "2.5");
  CHECK(model.parameter("0.weight") == before);
}

TEST_CASE("pooling as a stage of its own") {
  check_layer<Input<3, 11, 12>, Conv2d<3, 8, 3>, ReLU, MaxPool2d<3, 2>>("conv_pool_overlap", 2);
  check_layer<Input<3, 9, 10>, Conv2d<3, 8, 3>, MaxPool2d<3, 2, 1>>("conv_pool_padded", 2);
  check_layer<Input<3, 6, 7>, MaxPool2d<2>>("pool_alone", 2);
  check_layer<Input<5, 6, 7>, MaxPool2d<3, 1>>("pool_3_stride_1", 2);
  check_layer<Input<1, 20, 1>, MaxPool2d<Size2{3, 1}, 1>>("pool_column", 1);
  check_layer<Input<1, 14, 14>, Conv2d<1, 4, 3>, MaxPool2d<2>, MaxPool2d<2>>("pool_pool", 2);
}
