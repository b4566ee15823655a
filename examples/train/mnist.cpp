// `./dev train mnist`: LeNet on MNIST.
#include <kern/io/gzip.hpp>

#include "train.hpp"
#include "trainers.hpp"

using namespace kern::nn;

using LeNet = Sequential<Named<"conv1", Conv2d<1, 16, 3>>, ReLU, Named<"conv2", Conv2d<16, 32, 3>>, ReLU,  //
                         MaxPool2d<2>, Dropout2d<0.25>, Flatten,                                           //
                         Named<"fc1", Linear<4608, 128>>, ReLU, Dropout<0.5>, Named<"fc2", Linear<128, 10>>,
                         LogSoftmax>;

void train_mnist(const Options& o) {
  using namespace kern;
  const auto read = [&](data::Split split) {
    return Pictures<data::Mnist::Sample>(data::Mnist{o.data, split, io::read_gzip}, o.limit);
  };
  train<LeNet, Input<1, 28, 28>>(
      o, Data<data::Mnist::Sample>{"mnist", "", read(data::Split::train), read(data::Split::test)},
      data::Compose{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}});
}
