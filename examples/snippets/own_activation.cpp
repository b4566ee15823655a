// A net with an activation of one's own, and its gradients against differences, on a GPU where there is one.
//   g++ -std=c++20 -O3 -march=native -I include examples/snippets/own_activation.cpp -pthread -o own && ./own
//   nvcc -std=c++20 -O3 -I include -x cu examples/snippets/own_activation.cpp -o own && ./own
#include <cmath>
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>
#include <vector>

#include "softsign.hpp"

// region net
using Net = nn::Sequential<nn::Conv2d<1, 8, 3>, Softsign, nn::MaxPool2d<2>, nn::Flatten, nn::Linear<288, 10>>;
using Image = Input<1, 14, 14>;
// endregion

// region check
/// How far the gradients of a step are from central differences of its loss, in double. Those are off by
/// about h^2, and by roundings of 1e-16 / h.
template <class Device>
double gradient_error(const Device& device) {
  Model<Net, Image, Device, double> model{Seed{0}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0}};  // its steps change nothing
  struct Batch {
    Tensor<double, Shape<4, 1, 14, 14>> images = randn<double, Shape<4, 1, 14, 14>>(Seed{1});
    std::vector<std::int32_t> labels{0, 3, 9, 4};
  };
  const std::vector<Batch> data(1);
  trainer.step(data[0]);
  double worst = 0;
  for (const auto& name : model.parameter_names()) {
    auto w = model.parameter(name);
    const auto gradient = model.gradient(name);
    const auto loss = [&](std::size_t i, double value) {
      w[i] = value;
      model.set_parameter(name, w);
      return trainer.evaluate(data).loss;
    };
    for (std::size_t i = 0; i < w.size(); i += 7) {
      const double h = 1e-5, at = w[i], up = loss(i, at + h), down = loss(i, at - h);
      worst = std::max(worst, std::abs(gradient[i] - (up - down) / (2 * h)));
      loss(i, at);
    }
  }
  return worst;
}
// endregion

int main() {
  Model<Net, Image> model{Seed{0}};
  std::printf("%d stages: Softsign runs in the registers of the convolution\n", model.plan().stages);
  on_device(choose_device("auto"), [](const auto& device) {
    std::printf("gradients within 1e-8 of differences: %s\n", gradient_error(device) < 1e-8 ? "yes" : "no");
  });
}
