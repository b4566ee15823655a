#include <cstdio>
#include <kern/io/safetensors.hpp>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Flatten, Named<"fc1", Linear<4, 3>>, ReLU, Named<"fc2", Linear<3, 2>>>;

int main() {
  // region model
  Model<Net, Input<1, 2, 2>> model{Seed{0}}, other{Seed{1}};
  io::save_model(model, "net.safetensors", {{"format", "pt"}});  // notes may be left out
  io::load_model(other, "net.safetensors");
  // endregion
  // region file
  const io::SafetensorsFile file{"net.safetensors"};
  for (const io::TensorInfo& t : file.tensors())
    std::printf("%s %s %s\n", t.name.c_str(), t.dtype.c_str(), shape_string(t.shape).c_str());
  const auto weight = file.tensor<float, Shape<dyn, 4>>("fc1.weight");
  // endregion
  // region tensors
  const auto scores = other.predict(Tensor<float, Shape<1, 2, 2>>{1, 2, 3, 4});
  io::save_safetensors("scores.safetensors", {{"scores", scores}, {"weight", weight}});
  // endregion
  // region error
  Model<Sequential<Flatten, Named<"fc1", Linear<4, 3>>, ReLU, Named<"fc2", Linear<3, 5>>>, Input<1, 2, 2>>
      wide;
  try {
    io::load_model(wide, "net.safetensors");
  } catch (const DataError& e) {
    std::puts(e.what());
  }
  // endregion
}
