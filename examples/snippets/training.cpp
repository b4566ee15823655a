#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Named<"conv", Conv2d<1, 8, 5>>, ReLU, MaxPool2d<2>, Flatten,  //
                       Named<"fc1", Linear<1152, 32>>, ReLU, Named<"fc2", Linear<32, 10>>>;
using Image = Input<1, 28, 28>;

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "examples/data";
  const data::Compose transform{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}};
  data::DataLoader train{
      data::Mnist{folder, data::Split::train}, transform, {.batch_size = 64, .shuffle = true}};
  data::DataLoader test{data::Mnist{folder, data::Split::test}, transform, {.batch_size = 500}};

  {
    // region adam
    Model<Net, Image> model{Seed{0}};
    Trainer trainer{model, CrossEntropyLoss{}, AdamW{.lr = 2e-3, .weight_decay = 0.05}};
    // endregion
    // region one_cycle
    Scheduler schedule{trainer.optimizer(), OneCycleLR{.max_lr = 0.01, .total_steps = int(train.size())}};
    for (const auto& batch : train) {
      trainer.step(batch);
      schedule.step(trainer.optimizer());
    }
    // endregion
    // region state
    for (const auto steps : trainer.optimizer_state().steps) std::printf("%d steps\n", int(steps));
    trainer.optimizer_state().each([](std::string_view name, const auto& values) {
      std::printf("%s: %zu values\n", std::string(name).c_str(), values.size());  // exp_avg, exp_avg_sq
    });
    // endregion
  }
  {
    Model<Net, Image> model{Seed{0}};
    // region options
    const CrossEntropyLoss loss{{.weight = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1}, .label_smoothing = 0.1}};
    Trainer trainer{model, loss, Adam{}};
    // endregion
    for (const auto& batch : train) trainer.step(batch);
  }
  {
    Model<Net, Image> model{Seed{0}};
    // region groups
    Trainer trainer{model, CrossEntropyLoss{},
                    Grouped<Sgd>{{.lr = 0.05, .momentum = 0.9},
                                 {{"fc1", {.lr = 0.01, .momentum = 0.9, .weight_decay = 1e-3}},
                                  {"fc2.bias", {.lr = 0.1}}}}};
    // endregion
    // region plateau
    ReduceLROnPlateau plateau{.factor = 0.5, .patience = 2};
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& batch : train) trainer.step(batch);
      plateau.step(trainer.optimizer(), trainer.evaluate(test).loss);
    }
    // endregion
  }
  {
    Model<Net, Image> model{Seed{0}};
    // region clip
    Trainer trainer{model, CrossEntropyLoss{}, Adam{}, ClipNorm{.max_norm = 1}};
    for (const auto& batch : train) trainer.step(batch);
    std::printf("norm of the last gradient: %.3f\n", trainer.gradient_norm());
    // endregion

    // region accumulate
    int count = 0;
    for (const auto& batch : train)
      if (++count % 4 == 0)
        trainer.step(batch);  // on the samples of four batches
      else
        trainer.accumulate(batch);
    // endregion

    // region ema
    Ema ema{model, 0.99};
    for (const auto& batch : train) {
      trainer.step(batch);
      ema.update();
    }
    ema.swap();  // the average is in the model
    const Evaluation averaged = trainer.evaluate(test);
    ema.swap();  // and what was trained is again
    // endregion
    std::printf("accuracy %.3f, of the average %.3f\n", trainer.evaluate(test).accuracy, averaged.accuracy);
  }
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
