// The program behind `./dev train`: which trainer, and its options.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <kern/core/error.hpp>
#include <limits>
#include <string>

#include "trainers.hpp"

namespace {

struct TrainerProgram {
  const char *name, *what, *data;
  Options defaults;
  void (*train)(const Options&);
};

const TrainerProgram programs[] = {
    // lr and momentum: for the 10,000 images that ship; the full set does well with 0.01 and 0.5
    {"mnist", "Trains LeNet on MNIST.", "folder with MNIST's four files, raw or .gz",
     Options{.data = KERN_EXAMPLES_DATA, .epochs = 20, .lr = 0.03, .momentum = 0.9}, train_mnist},
    {"cifar10", "Trains the net of PyTorch's best-known tutorial on CIFAR-10.",
     "folder with CIFAR-10's binary version", Options{.data = KERN_DATA "/cifar10"}, train_cifar10},
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
        return good ? std::string() : kern::text("expected ", words, ", got ", input);
      },
      "");
}

void add_options(CLI::App& app, const TrainerProgram& program, Options& o) {
  const auto count = number(1, 1'000'000, "a whole number from 1 to 1000000");
  const auto rate = number(0.0, std::numeric_limits<double>::max(), "a number from 0 on");
  app.option_defaults()->always_capture_default();
  app.add_option("--data", o.data, program.data);
  if (program.train == train_cifar10)
    app.add_flag("--synthetic", o.synthetic, "generated pictures of ten shapes in place of CIFAR-10");
  app.add_option("--epochs", o.epochs, "times through the training images")->check(count);
  app.add_option("--batch-size", o.batch_size, "images a step")->check(count);
  app.add_option("--lr", o.lr, "learning rate")->check(rate);
  app.add_option("--momentum", o.momentum, "of SGD")->check(rate);
  app.add_option("--seed", o.seed, "of parameters, order and dropout: the same seed, the same bits")
      ->check(number(std::uint64_t{0}, ~std::uint64_t{0}, "a whole number from 0 to 18446744073709551615"));
  app.add_option("--limit", o.limit, "images of each split, the first ones; 0: all")
      ->check(number(0, 1'000'000'000, "a whole number from 0 to 1000000000"));
  app.add_option("--threads", o.threads, "0: all that the machine has")
      ->check(number(0, 1024, "a whole number from 0 to 1024"));
  app.add_option("--device", o.device, "auto (a GPU where CUDA works), cpu, cuda or cuda:N");
  auto* const compare =
      app.add_flag("--compare", o.compare, "train on the host, then on the GPU, and print both speeds");
  app.add_option("--log-every", o.log_every, "steps from one loss to the next")->check(count);
  app.add_option("--out", o.out,
                 "folder for TensorBoard's curves and model.safetensors; empty: a new one under runs");
  auto* const checkpoint =
      app.add_option("--checkpoint", o.checkpoint, "file that keeps the training after each epoch")
          ->excludes(compare);
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "steps from one checkpoint to the next within an epoch; 0: none")
      ->check(number(0, 1'000'000'000, "a whole number from 0 to 1000000000"))
      ->needs(checkpoint);
  app.add_option("--resume", o.resume, "file of --checkpoint: go on from there, with its learning rate")
      ->excludes(compare);
  app.add_flag("--explain", o.explain, "print what is fused, and why the rest is not");
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // who watches a file or a pipe sees each line at once
  const TrainerProgram* program = &programs[0];
  if (argc > 1 && argv[1][0] != '-') {
    program = nullptr;
    for (const TrainerProgram& p : programs)
      if (std::strcmp(argv[1], p.name) == 0) program = &p;
    if (!program) {
      std::fprintf(stderr, "error: expected mnist or cifar10, got %s\n", argv[1]);
      return 2;
    }
    ++argv, --argc;
  }
  Options o = program->defaults;
  CLI::App app{program->what};
  add_options(app, *program, o);
  CLI11_PARSE(app, argc, argv);
  try {
    program->train(o);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw kern::Error("the output could not be written");
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
