// onnxruntime computes what predict() does.
#include <doctest/doctest.h>

#include <cmath>

#include "kern/io/npy.hpp"
#include "kern/io/onnx.hpp"
#include "kern/tensor/random.hpp"
#include "support/files.hpp"
#include "support/onnx_net.hpp"
#include "support/python.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {
using LeNet = Sequential<Named<"conv1", Conv2d<1, 16, 3>>, ReLU, Named<"conv2", Conv2d<16, 32, 3>>, ReLU,
                         MaxPool2d<2>, Dropout2d<0.25>, Flatten, Named<"fc1", Linear<4608, 128>>, ReLU,
                         Dropout<0.5>, Named<"fc2", Linear<128, 10>>, LogSoftmax>;
using Cifar10 = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                           Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;

/// An input that branches read; a branch that is no node; three branches; flattened images behind each other.
using Branched = Sequential<
    Residual<Conv2d<3, 3, 3, 1, 1>, Named<"bn", BatchNorm2d<3>>>, ReLU,
    Concat<Named<"wide", Conv2d<3, 4, 3, 1, 1>>, Identity, Sequential<Conv2d<3, 5, 1>, Residual<Tanh>>>,
    Concat<Sequential<Conv2d<12, 2, 3>, Flatten>, Sequential<GlobalAvgPool2d, Flatten>,
           Sequential<Dropout<>, Flatten>>,
    Linear<396, 5>, Add<Identity, Linear<5, 5>>>;

using Words = Sequential<Named<"words", Embedding<30, 6, 0>>, Conv2d<6, 8, Size2{3, 1}, 1, Size2{1, 0}>, ReLU,
                         GlobalAvgPool2d, Flatten, Linear<8, 3>>;

/// The model, five samples and its outputs for these, at FOLDER/NAME. indices: samples are numbers below
/// that.
template <class Model>
void save(Model& model, const std::string& name, int indices = 0) {
  io::save_onnx(model, name + ".onnx");
  auto x = indices ? rand<float, typename Model::Input::Batch>(Seed{4}, 5)
                   : randn<float, typename Model::Input::Batch>(Seed{4}, 5);
  if (indices)
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = std::floor(x.data()[i] * float(indices));
  io::save_npy(x, name + "_x.npy");
  io::save_npy(model.predict(x), name + "_y.npy");
}
}  // namespace

TEST_CASE("LeNet, CIFAR-10's net, every layer, branches, an embedding") {
  const Folder folder;
  Model<LeNet, Input<1, 28, 28>> lenet;
  Model<Cifar10, Input<3, 32, 32>> cifar10;
  Model<EveryLayer, Input<3, 10, 9>> every;
  Model<Branched, Input<3, 5, 6>> branched;
  Model<Words, Input<9>> words;
  set_parameters(every);
  save(lenet, folder / "lenet");
  save(cifar10, folder / "cifar10");
  save(every, folder / "every");
  save(branched, folder / "branched");
  save(words, folder / "words", 30);
  run_python("io/run_in_onnxruntime.py", folder);
}
