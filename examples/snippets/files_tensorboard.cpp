#include <cstdio>
#include <kern/io/tensorboard.hpp>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Flatten, Named<"fc", Linear<784, 10>>>;

int main() {
  data::DataLoader train{data::Mnist{"examples/data"}, data::ToTensor{}, {.batch_size = 50}};
  Model<Net, Input<1, 28, 28>> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1}};
  // region writer
  io::SummaryWriter writer{"runs/linear"};
  int step = 0;
  for (const auto& batch : train) {
    if (step == 0) writer.add_image("first digit", batch.images[0]);
    writer.add_scalar("loss/train", trainer.step(batch), step++);
  }
  writer.add_histogram("fc.weight", model.parameter<"fc.weight">(), step);
  writer.add_text("net", summary<Net, Input<1, 28, 28>>());
  writer.add_graph(model);
  // endregion
}
