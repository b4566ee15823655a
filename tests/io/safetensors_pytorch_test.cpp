// What a model saves goes into PyTorch, and back.
#include <doctest/doctest.h>

#include <cmath>

#include "kern/graph/model.hpp"
#include "kern/io/safetensors.hpp"
#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "support/files.hpp"
#include "support/python.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {
using Net = Sequential<Named<"conv1", Conv2d<1, 4, 3>>, Named<"bn1", BatchNorm2d<4>>, ReLU, MaxPool2d<2>,
                       Flatten, Named<"rest", Sequential<Linear<36, 16>, ReLU, Linear<16, 10>>>>;
template <class T>
using NetModel = Model<Net, Input<1, 8, 8>, Host, T>;

template <class T>
void save(const std::string& name) {
  NetModel<T> model{Seed{3}};
  model.set_buffer("bn1.running_mean", {T(0.1), T(-0.2), T(0.3), T(0)});
  model.set_buffer("bn1.running_var", {T(0.5), T(1.5), T(2), T(0.7)});
  io::save_model(model, name + ".safetensors", {{"format", "pt"}});
  const auto x = randn<T, Shape<dyn, 1, 8, 8>>(Seed{4}, 5);
  io::save_safetensors(name + "_data.safetensors", {{"x", x}, {"y", model.predict(x)}});
}
}  // namespace

TEST_CASE("load_state_dict(load_file(f)) there, load_model here: the same outputs") {
  const Folder folder;
  save<float>(folder / "float");
  save<double>(folder / "double");
  run_python("io/load_in_pytorch.py", folder);

  NetModel<float> model{Seed{3}};
  io::load_model(model, folder / "trained.safetensors");
  const io::SafetensorsFile before(folder / "float_data.safetensors"),
      after(folder / "trained_data.safetensors");
  const auto y = model.predict(before.tensor<float, Shape<dyn, 1, 8, 8>>("x"));
  const auto expected = after.tensor<float, Shape<5, 10>>("y");
  for (std::size_t i = 0; i < 50; ++i) CHECK(std::abs(y.data()[i] - expected.data()[i]) < 1e-5f);
}
