// What a net takes for what.
//   g++ -std=c++20 -O3 -march=native -I include examples/snippets/metrics.cpp -pthread -o metrics &&
//   ./metrics
#include <cstdio>
#include <kern/kern.hpp>
#include <vector>

using namespace kern;

int main() {
  // Points on a line: left, middle, right.
  const Tensor<float, Shape<6, 1, 1, 1>> points{-2, -1, 0, 0.1f, 1, 2};
  const std::vector<std::int32_t> labels{0, 0, 1, 1, 2, 1};
  data::DataLoader test{data::TensorDataset{points, labels}, data::Compose{}, {.batch_size = 4}};
  Model<nn::Sequential<nn::Flatten, nn::Linear<1, 3>>, Input<1, 1, 1>> model{Seed{0}};
  model.set_parameter("1.weight", {-1, 0, 1});
  model.set_parameter("1.bias", {0, 0.5f, 0});
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};

  // region evaluate
  Accuracy top2{2};
  ConfusionMatrix confusion{3};
  const Evaluation result = trainer.evaluate(test, top2, confusion);
  std::printf("accuracy %.3f, top 2 %.3f\n", result.accuracy, top2.compute());
  std::printf("recall of class 1: %.3f\n", confusion.recall(1));
  std::printf("%s", to_string(confusion).c_str());
  // endregion
}
