// error: backend_lacks<Backend<float> part::gather
// A backend that adds no gradients up.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/cross_entropy_loss.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;
using namespace kern::nn;

template <class T>
struct Backend : host::Backend<T> {
  using host::Backend<T>::Backend;
#ifndef FIXED
  void gather() = delete;  // hides the host's
#endif
};
struct Device : Host {
  template <class T>
  using Backend = ::Backend<T>;
};

int main() {
  Model<Sequential<Conv2d<1, 10, 28>, Flatten>, Input<1, 28, 28>, Device> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{}};
  trainer.step(Tensor<float, Shape<4, 1, 28, 28>>(), std::vector<std::int32_t>{0, 1, 2, 3});
}
