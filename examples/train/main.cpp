// The trainer behind `./dev train`: LeNet on MNIST, with options.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <kern/cuda/cuda.hpp>
#include <kern/io/gzip.hpp>
#include <kern/kern.hpp>
#include <limits>
#include <string>
#include <type_traits>

#include "progress.hpp"

using namespace kern;
using namespace kern::nn;

using LeNet = Sequential<Named<"conv1", Conv2d<1, 16, 3>>, ReLU, Named<"conv2", Conv2d<16, 32, 3>>, ReLU,  //
                         MaxPool2d<2>, Dropout2d<0.25>, Flatten,                                           //
                         Named<"fc1", Linear<4608, 128>>, ReLU, Dropout<0.5>, Named<"fc2", Linear<128, 10>>,
                         LogSoftmax>;
using Image = Input<1, 28, 28>;

namespace {

struct Options {
  std::string data = KERN_EXAMPLES_DATA, device = "auto";
  int epochs = 20, batch_size = 64, threads = 0;
  double lr = 0.03,
         momentum = 0.9;  // for the 10,000 images that ship; the full set does well with 0.01 and 0.5
  std::uint64_t seed = 0;
  bool explain = false;
};

/// A check that says what is wrong in plain words.
template <class Number>
CLI::Validator number(Number least, Number most, const char* words) {
  return CLI::Validator(
      [=](std::string& input) {
        Number n{};
        const char* const end = input.data() + input.size();
        const auto [stop, error] = std::from_chars(input.data(), end, n);
        const bool good = error == std::errc{} && stop == end && n >= least && n <= most;
        return good ? std::string() : text("expected ", words, ", got ", input);
      },
      "");
}

template <class Device>
void train(const Options& o, const DeviceChoice& choice, const Device& device) {
  const data::Compose transform{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}};
  auto train = data::make_loader(device, data::Mnist{o.data, data::Split::train, io::read_gzip}, transform,
                                 {.batch_size = o.batch_size, .shuffle = true, .seed = Seed{o.seed}});
  auto test = data::make_loader(device, data::Mnist{o.data, data::Split::test, io::read_gzip}, transform,
                                {.batch_size = 1000});
  const std::size_t samples = train.dataset().size();

  Model<LeNet, Image, Device> model{Seed{o.seed}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = o.lr, .momentum = o.momentum}};

  std::printf("device: %s", choice.text.c_str());
  if constexpr (std::is_same_v<Device, Host>)
    std::printf(", %d thread%s, %d-bit vectors", model.threads(), model.threads() == 1 ? "" : "s",
                8 * register_bytes);
  std::printf("\n");
  std::printf("data: %s, %zu training and %zu test images\n\n%s\n", o.data.c_str(), samples,
              test.dataset().size(), summary<LeNet, Image>().c_str());
  if (o.explain) {
    if constexpr (std::is_same_v<Device, Host>)
      std::printf("%s\n", explain<LeNet, Image>().c_str());
    else
      std::printf("%s\n", explain<LeNet, Image, Device>(o.batch_size).c_str());
  }

  Evaluation result;
  for (int epoch = 1; epoch <= o.epochs; ++epoch) {
    Progress progress(epoch, o.epochs, train.size(), samples);
    double loss = 0;
    std::size_t done = 0;
    for (const auto& batch : train) {
      loss += double(trainer.step(batch)) * double(batch.labels.size());
      done += batch.labels.size();
      progress.step(loss / double(done), done);
    }
    const double seconds = progress.seconds();
    result = trainer.evaluate(test);
    std::printf("epoch %d/%d  train loss %.4f  test loss %.4f  test accuracy %.4f  %.2f s  %.0f samples/s\n",
                epoch, o.epochs, loss / double(done), result.loss, result.accuracy, seconds,
                double(samples) / seconds);
  }
  std::printf("test accuracy: %.4f\n", result.accuracy);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Trains LeNet on MNIST."};
  const auto count = number(1, 1'000'000, "a whole number from 1 to 1000000");
  const auto rate = number(0.0, std::numeric_limits<double>::max(), "a number from 0 on");
  app.option_defaults()->always_capture_default();
  app.add_option("--data", o.data, "folder with MNIST's four files, raw or .gz");
  app.add_option("--epochs", o.epochs, "times through the training images")->check(count);
  app.add_option("--batch-size", o.batch_size, "images a step")->check(count);
  app.add_option("--lr", o.lr, "learning rate")->check(rate);
  app.add_option("--momentum", o.momentum, "of SGD")->check(rate);
  app.add_option("--seed", o.seed, "of parameters, order and dropout: the same seed, the same bits")
      ->check(number(std::uint64_t{0}, ~std::uint64_t{0}, "a whole number from 0 to 18446744073709551615"));
  app.add_option("--threads", o.threads, "0: all that the machine has")
      ->check(number(0, 1024, "a whole number from 0 to 1024"));
  app.add_option("--device", o.device, "auto (a GPU where CUDA works), cpu, cuda or cuda:N");
  app.add_flag("--explain", o.explain, "print what is fused, and why the rest is not");
  CLI11_PARSE(app, argc, argv);
  try {
    const DeviceChoice choice = choose_device(o.device);
    on_device(choice, [&]<class Device>(Device device) {
      if constexpr (std::is_same_v<Device, Host>) device.threads = o.threads;
      train(o, choice, device);
    });
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw Error("the output could not be written");
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
