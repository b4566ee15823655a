#include <algorithm>
#include <cstdio>
#include <kern/io/checkpoint.hpp>
#include <kern/io/safetensors.hpp>
#include <kern/kern.hpp>
#include <vector>

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Flatten, Named<"fc1", Linear<4, 3>>, ReLU, Named<"fc2", Linear<3, 2>>>;

void train_and_save() {
  const auto pictures = rand<float, Shape<dyn, 1, 2, 2>>(Seed{0}, 50);
  std::vector<std::int32_t> labels(50);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = pictures.data()[4 * i] > 0.5f;
  const data::TensorDataset set{pictures, labels};
  data::DataLoader test{set, data::Compose{}, {.batch_size = 50}};
  // region checkpoint
  Model<Net, Input<1, 2, 2>> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, AdamW{.lr = 0.01}};
  data::DataLoader train{set, data::Compose{}, {.batch_size = 4, .shuffle = true}};
  Scheduler schedule{trainer.optimizer(), StepLR{.step_size = 2}};
  double best = 0;

  io::Checkpoint checkpoint{"run.safetensors", trainer, train, schedule, io::Entry{"best", best}};
  if (checkpoint.exists()) checkpoint.load();
  std::printf("begins with epoch %d, batch %d\n", int(train.epoch()), int(train.batch()));
  while (train.epoch() < 3) {
    for (const auto& batch : train) {
      trainer.step(batch);
      if (trainer.steps() % 10 == 0) checkpoint.save();
    }
    schedule.step(trainer.optimizer());
    best = std::max(best, trainer.evaluate(test).accuracy);
    checkpoint.save();
  }
  // endregion
}

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
  // region not_strict
  const io::LoadedKeys keys = io::load_model(other, "scores.safetensors", false);
  std::printf("missing: %zu, unexpected: %zu\n", keys.missing_keys.size(), keys.unexpected_keys.size());
  // endregion
  std::remove("run.safetensors");
  train_and_save();
  train_and_save();
}
