// error: data_set_lacks<Plane set_member::classes_or_Targets int
// A data set that says neither how many classes it has nor what shape its targets have.
#include <kern/data/concat_dataset.hpp>
#include <kern/data/loader.hpp>
#include <kern/data/subset.hpp>
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
#include <kern/train/losses.hpp>
#include <kern/train/sgd.hpp>
#include <kern/train/trainer.hpp>
using namespace kern;

struct Plane {
  using Sample = Shape<2>;
#ifdef FIXED
  using Targets = Shape<1>;
#endif
  float x[2]{}, y[1]{};
  std::size_t size() const { return 4; }
  data::Record get(std::size_t) const { return {.pixels = {}, .label = 0, .values = x, .targets = y}; }
};

int main() {
  data::DataLoader loader{
      data::Subset{data::ConcatDataset{Plane{}, Plane{}}, {0, 5}}, data::Compose{}, {.batch_size = 2}};
  Model<nn::Sequential<nn::Linear<2, 1>>, Input<2>> model;
  Trainer trainer{model, MSELoss{}, Sgd{}};
  for (const auto& batch : loader) trainer.step(batch);
  return int(trainer.evaluate(loader).count);
}
