// TensorBoard's own package reads what we write.
#include <doctest/doctest.h>

#include "kern/graph/model.hpp"
#include "kern/io/tensorboard.hpp"
#include "kern/nn/nn.hpp"
#include "support/files.hpp"
#include "support/python.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

TEST_CASE("scalars, histograms, pictures, texts") {
  const Folder folder;
  io::SummaryWriter w(folder.path());
  for (int step = 0; step < 100; ++step) w.add_scalar("train_loss", 1.0 / double(1 << step % 10), step);
  w.add_histogram("w", std::vector<float>{-1, 0, 2, 3}, 5);
  Tensor<std::uint8_t, Shape<3, 2, 5>> rgb;
  Tensor<std::uint8_t, Shape<1, 2, 5>> grey;
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb.data()[i] = std::uint8_t(20 * i);
  for (std::size_t i = 0; i < grey.size(); ++i) grey.data()[i] = std::uint8_t(20 * i);
  w.add_image("rgb", rgb);
  w.add_image("grey", grey);
  w.add_text("note", "**größe**");
  w.add_graph(Model<Sequential<Flatten, Named<"fc", Linear<6, 2>>>, Input<1, 2, 3>>{});
  run_python("io/read_in_tensorboard.py", folder);
}
