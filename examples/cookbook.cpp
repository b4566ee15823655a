// The recipes of docs/cookbook.md, each a function. Needs nlohmann's JSON library, protozero, libpng and
// libjpeg-turbo (Debian: nlohmann-json3-dev, libprotozero-dev, libpng-dev, libturbojpeg0-dev).
//   libraries="-lpng -lz -lturbojpeg"
//   g++ -std=c++20 -O3 -march=native -I include examples/cookbook.cpp -pthread $libraries -o cookbook &&
//   ./cookbook
// region top
#include <cstdio>
#include <kern/io/checkpoint.hpp>
#include <kern/io/image_folder.hpp>
#include <kern/io/npy.hpp>
#include <kern/io/onnx.hpp>
#include <kern/io/tensorboard.hpp>
#include <kern/kern.hpp>

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Flatten, Named<"fc1", Linear<784, 32>>, ReLU, Named<"head", Linear<32, 10>>>;
using Image = Input<1, 28, 28>;

auto digits(data::Split split) {
  return data::DataLoader{data::Mnist{"examples/data", split},
                          data::ToTensor{},
                          {.batch_size = 64, .shuffle = split == data::Split::train}};
}
// endregion

// region tensors
void train_on_tensors(const Tensor<float, Shape<dyn, 1, 28, 28>>& images,
                      const std::vector<std::int32_t>& labels) {
  data::DataLoader loader{
      data::TensorDataset{images, labels, 10}, data::Compose{}, {.batch_size = 32, .shuffle = true}};
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (int epoch = 1; epoch <= 5; ++epoch) {
    double sum = 0;
    for (const auto& batch : loader) sum += trainer.step(batch);
    std::printf("epoch %d: loss %.3f\n", epoch, sum / double(loader.size()));
  }
}
// endregion

// region regression
void regression() {
  const auto x = rand<float, Shape<500, 2>>(Seed{1});
  Tensor<float, Shape<500, 1>> y;
  for (int i = 0; i < 500; ++i) y(i, 0) = 3 * x(i, 0) + 2 * x(i, 1) + 1;
  data::DataLoader loader{data::TensorDataset{x, y}, data::Compose{}, {.batch_size = 50, .shuffle = true}};
  Model<Linear<2, 1>, Input<2>> model{Seed{0}};
  Trainer trainer{model, MSELoss{}, Sgd{.lr = 0.1, .momentum = 0.9}};
  for (int epoch = 0; epoch < 40; ++epoch)
    for (const auto& batch : loader) trainer.step(batch);
  const auto w = model.parameter<"weight">();
  const auto b = model.parameter<"bias">();
  std::printf("y = %.2f a + %.2f b + %.2f\n", double(w(0, 0)), double(w(0, 1)), double(b(0)));
}
// endregion

// region transfer
void transfer() {
  Model<Net, Image> model{Seed{0}};
  const io::LoadedKeys keys = io::load_model(model, "pretrained.safetensors", false);
  for (const auto& name : keys.missing_keys) std::printf("begins anew: %s\n", name.c_str());
  Trainer trainer{model, CrossEntropyLoss{}, Grouped<Sgd>{{.lr = 1e-3}, {{"head", {.lr = 0.05}}}}};
  auto train = digits(data::Split::train);
  for (const auto& batch : train) trainer.step(batch);
}
// endregion

// region freeze
void freeze() {
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Grouped<Sgd>{{.lr = 0.05}, {{"fc1", {.lr = 0}}}}};
  const auto before = model.parameter("fc1.weight");
  auto train = digits(data::Split::train);
  for (const auto& batch : train) trainer.step(batch);
  std::printf("fc1 is as it was: %s\n", model.parameter("fc1.weight") == before ? "yes" : "no");
  trainer.optimizer().groups[0].options.lr = 1e-3;  // and thaws
  for (const auto& batch : train) trainer.step(batch);
}
// endregion

// region early_stopping
void early_stopping() {
  const auto [most, rest] = data::random_split(data::Mnist{"examples/data"}, {0.8, 0.2}, Seed{1});
  data::DataLoader train{most, data::ToTensor{}, {.batch_size = 64, .shuffle = true}};
  data::DataLoader valid{rest, data::ToTensor{}, {.batch_size = 64}};
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.1, .momentum = 0.9}};
  ReduceLROnPlateau plateau{.factor = 0.3, .patience = 1};
  double best = 1e9;
  int waited = 0;
  for (int epoch = 0; epoch < 50 && waited < 4; ++epoch) {
    for (const auto& batch : train) trainer.step(batch);
    const double loss = trainer.evaluate(valid).loss;
    plateau.step(trainer.optimizer(), loss);
    ++waited;
    if (loss < best) best = loss, waited = 0, io::save_model(model, "best.safetensors");
  }
  io::load_model(model, "best.safetensors");
  std::printf("the best is back: %s\n", trainer.evaluate(valid).loss == best ? "yes" : "no");
}
// endregion

// region resume
void resume() {
  auto train = digits(data::Split::train);
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  Scheduler schedule{trainer.optimizer(), StepLR{.step_size = 2}};
  io::Checkpoint checkpoint{"cookbook_run.safetensors", trainer, train, schedule};
  if (checkpoint.exists()) checkpoint.load();
  std::printf("begins with epoch %d\n", int(train.epoch()));
  while (train.epoch() < 3) {
    for (const auto& batch : train) {
      trainer.step(batch);
      if (trainer.steps() % 100 == 0) checkpoint.save();
    }
    schedule.step(trainer.optimizer());
    checkpoint.save();
  }
}
// endregion

// region curves
void curves() {
  auto train = digits(data::Split::train), test = digits(data::Split::test);
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  io::SummaryWriter writer{"runs/cookbook"};
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& batch : train) {
      const float loss = trainer.step(batch);
      if (trainer.steps() % 10 == 0) writer.add_scalar("loss/train", loss, trainer.steps());
    }
    const Evaluation e = trainer.evaluate(test);
    writer.add_scalar("loss/test", e.loss, trainer.steps());
    writer.add_scalar("accuracy/test", e.accuracy, trainer.steps());
    writer.add_histogram("fc1.weight", model.parameter<"fc1.weight">(), trainer.steps());
  }
}
// endregion

// region onnx
void export_onnx() {
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  auto train = digits(data::Split::train);
  for (const auto& batch : train) trainer.step(batch);
  io::save_onnx(model, "digits.onnx", {.input = "images", .output = "scores"});
  const auto images = rand<float, Shape<dyn, 1, 28, 28>>(Seed{1}, 5);
  io::save_npy(images, "images.npy");  // to see that it computes the same elsewhere
  io::save_npy(model.predict(images), "scores.npy");
}
// endregion

// region picture
int digit_in(const char* path, Model<Net, Image>& model) {
  const io::Picture p = io::resize(io::read_picture(path), 28, 28);  // [28][28][red, green, blue]
  Tensor<float, Shape<1, 28, 28>> x;
  for (int i = 0; i < 28 * 28; ++i) x.data()[i] = float(p.pixels[std::size_t(3 * i)]) / 255;
  return model.classify(x);
}
// endregion

// region folds
void cross_validation() {
  const data::Mnist all{"examples/data"};
  const auto parts = data::random_split(all, {0.2, 0.2, 0.2, 0.2, 0.2}, Seed{1});
  double sum = 0;
  for (const auto& part : parts) {
    std::vector<std::uint32_t> others;
    for (const auto& p : parts)
      if (&p != &part) others.insert(others.end(), p.indices().begin(), p.indices().end());
    data::DataLoader train{data::Subset{all, others}, data::ToTensor{}, {.batch_size = 64, .shuffle = true}};
    data::DataLoader valid{part, data::ToTensor{}, {.batch_size = 64}};
    Model<Net, Image> model{Seed{0}};
    Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& batch : train) trainer.step(batch);
    sum += trainer.evaluate(valid).accuracy;
  }
  std::printf("mean accuracy of %zu folds: %.3f\n", parts.size(), sum / double(parts.size()));
}
// endregion

// region weights
void class_weights() {
  auto train = digits(data::Split::train);
  std::vector<double> weight(10);
  for (std::size_t i = 0; i < train.dataset().size(); ++i)
    ++weight[std::size_t(train.dataset().get(i).label)];
  for (double& w : weight) w = double(train.dataset().size()) / (10 * w);  // rare ones count more
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{{.weight = weight}}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (const auto& batch : train) trainer.step(batch);
  ConfusionMatrix confusion{10};
  auto test = digits(data::Split::test);
  trainer.evaluate(test, confusion);
  std::printf("recall of class 3: %.3f\n", confusion.recall(3));
}
// endregion

// region accumulate
void accumulate() {
  auto train = digits(data::Split::train);
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  for (const auto& batch : train)
    if (train.batch() % 4 == 0 || train.batch() == train.size())
      trainer.step(batch);  // on four batches, or what is left of them
    else
      trainer.accumulate(batch);
  std::printf("%zu batches, %d steps\n", train.size(), int(trainer.steps()));
}
// endregion

// region ema
void average() {
  auto train = digits(data::Split::train), test = digits(data::Split::test);
  Model<Net, Image> model{Seed{0}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9}};
  Ema ema{model, 0.99};
  for (const auto& batch : train) {
    trainer.step(batch);
    ema.update();
  }
  ema.swap();  // the average is in the model
  std::printf("accuracy of the average: %.3f\n", trainer.evaluate(test).accuracy);
  io::save_model(model, "average.safetensors");
  ema.swap();  // and training may go on
}
// endregion

int main() try {
  train_on_tensors(rand<float, Shape<dyn, 1, 28, 28>>(Seed{1}, 40), std::vector<std::int32_t>(40, 7));
  regression();
  {
    Model<Net, Image> model{Seed{1}};  // of another task: fc1 serves this one, too
    io::save_safetensors("pretrained.safetensors", {{"fc1.weight", model.parameter<"fc1.weight">()},
                                                    {"fc1.bias", model.parameter<"fc1.bias">()},
                                                    {"fc2.weight", rand<float, Shape<100, 32>>(Seed{2})}});
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // who watches a file or a pipe sees each line at once
  transfer();
  freeze();
  early_stopping();
  std::remove("cookbook_run.safetensors");
  resume();
  resume();
  curves();
  export_onnx();
  {
    Model<Net, Image> model{Seed{0}};
    const data::Mnist set{"examples/data"};
    std::vector<std::uint8_t> pixels(set.get(3).pixels.begin(), set.get(3).pixels.end());
    const std::string png = io::encode_png(28, 28, 1, pixels);
    if (std::FILE* const f = std::fopen("digit.png", "wb"))
      std::fwrite(png.data(), 1, png.size(), f), std::fclose(f);
    Tensor<float, Shape<1, 28, 28>> x;
    for (std::size_t i = 0; i < pixels.size(); ++i) x.data()[i] = float(pixels[i]) / 255;
    std::printf("the picture is the digit: %s\n",
                digit_in("digit.png", model) == model.classify(x) ? "yes" : "no");
  }
  cross_validation();
  class_weights();
  accumulate();
  average();
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
