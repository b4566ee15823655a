// What is stopped and resumed is what was not stopped, to the bit; what does not fit is named, and changes
// nothing.
#include "kern/io/checkpoint.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "kern/kern.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;
using data::detail::read_bytes;

namespace {

/// Pictures of random bytes.
struct Pictures {
  using Sample = Shape<1, 8, 8>;
  std::vector<std::uint8_t> bytes;
  explicit Pictures(std::size_t n = 50) : bytes(n * 64) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 2654435761u >> 13);
  }
  std::size_t size() const { return bytes.size() / 64; }
  data::Record get(std::size_t i) const { return {{bytes.data() + i * 64, 64}, std::int32_t(i % 5)}; }
  int classes() const { return 5; }
};
const data::Compose transform{data::RandomCrop<8>{2}, data::RandomHorizontalFlip{}, data::ToTensor{}};

using Net = Sequential<Named<"conv1", Conv2d<1, 4, 3>>, Named<"bn1", BatchNorm2d<4>>, ReLU, Dropout2d<0.25>,
                       Flatten, Dropout<0.5>, Named<"fc1", Linear<144, 5>>>;

constexpr data::DataLoaderOptions shuffled{.batch_size = 8, .shuffle = true, .seed = Seed{5}};

/// A training with all that a checkpoint holds: 4 epochs of 7 batches.
struct Training {
  static constexpr int epochs = 4;
  Model<Net, Input<1, 8, 8>> model;
  data::DataLoader<Pictures, std::remove_const_t<decltype(transform)>> train;
  Trainer<decltype(model), CrossEntropyLoss<>, Grouped<AdamW>, ClipNorm> trainer{
      model, {}, {{.lr = 1e-2, .amsgrad = true}, {{"fc1", {.lr = 5e-3}}}}, {.max_norm = 0.5}};
  Scheduler<OneCycleLR> schedule{trainer.optimizer(), {.max_lr = 0.01, .total_steps = 40}};
  Ema<decltype(model)> ema{model, 0.9};
  ReduceLROnPlateau plateau{.patience = 0};
  std::array<double, 2> best{};
  io::Checkpoint<decltype(trainer)&, decltype(train)&, decltype(schedule)&, decltype(ema)&,
                 ReduceLROnPlateau&, io::Entry<std::array<double, 2>>>
      checkpoint;

  explicit Training(const std::string& path, int threads = 1, data::DataLoaderOptions options = shuffled)
      : model{Seed{1}, Host{threads}},
        train{Pictures{},
              transform,
              {options.batch_size, options.shuffle, threads, options.drop_last, options.seed}},
        checkpoint{path, trainer, train, schedule, ema, plateau, io::Entry{"best", best}} {}

  /// Goes on until it ends, or stop(batches seen by this) says so. Each third batch makes a step with the one
  /// before.
  template <class Stop>
  void run(Stop stop) {
    for (int seen = 0; train.epoch() < epochs;) {
      for (const auto& batch : train) {
        if (train.batch() % 3 == 1) {
          trainer.accumulate(batch);
        } else {
          trainer.step(batch);
          schedule.step(trainer.optimizer());
          ema.update();
        }
        if (stop(++seen)) return;
      }
      ++best[0];
      plateau.step(trainer.optimizer(), std::cos(best[0]));
    }
  }
  void run() {
    run([](int) { return false; });
  }
};

std::vector<std::uint8_t> uninterrupted(const Folder& folder) {
  Training whole(folder / "whole");
  whole.run();
  whole.checkpoint.save();
  return read_bytes(folder / "whole");
}

}  // namespace

TEST_CASE("stopped after any batch and resumed, with other threads: the file of a training not stopped") {
  const Folder folder;
  const auto whole = uninterrupted(folder);
  for (int stop = 1; stop < 28; stop += 3) {
    CAPTURE(stop);
    const std::string file = folder / "parts";
    {
      Training first(file, 1 + stop % 3);
      first.run([&](int seen) { return seen == stop; });
      first.checkpoint.save();
    }
    Training second(file, 1 + (stop + 1) % 3);
    second.run([](int seen) { return seen == 2; });  // a training that was something else before
    second.checkpoint.load();
    second.run();
    second.checkpoint.save();
    CHECK(read_bytes(file) == whole);
  }
}

TEST_CASE("a net with running statistics predicts the same, to the bit, wherever it was saved and loaded") {
  const Folder folder;
  Training training(folder / "checkpoint");
  training.run([](int seen) { return seen == 9; });
  training.checkpoint.save();
  io::save_model(training.model, folder / "model");
  const auto images = randn<float, Shape<7, 1, 8, 8>>(Seed{9});
  const auto predictions = [&](auto& model) {
    const auto y = model.predict(images);
    std::vector<std::uint32_t> bits;
    for (const float v : y) bits.push_back(std::bit_cast<std::uint32_t>(v));
    return bits;
  };
  const auto expected = predictions(training.model);
  Model<Net, Input<1, 8, 8>> model{Seed{3}, Host{2}};
  CHECK(predictions(model) != expected);
  io::load_model(model, folder / "model");
  CHECK(predictions(model) == expected);

  Training other(folder / "checkpoint", 2);
  CHECK(predictions(other.model) != expected);
  other.checkpoint.load();
  CHECK(predictions(other.model) == expected);
  io::save_model(other.model, folder / "again");
  CHECK(read_bytes(folder / "again") == read_bytes(folder / "model"));
}

TEST_CASE("between two epochs, and before the first step") {
  const Folder folder;
  const auto whole = uninterrupted(folder);
  const std::string file = folder / "f";
  Training fresh(file);
  fresh.checkpoint.save();
  fresh.run();
  fresh.checkpoint.load();
  fresh.run();
  fresh.checkpoint.save();
  CHECK(read_bytes(file) == whole);
  Training again(file, 2);
  again.checkpoint.load();
  CHECK(again.train.epoch() == Training::epochs);
  CHECK(again.train.batch() == 0);
  again.checkpoint.save();
  CHECK(read_bytes(file) == whole);
}

TEST_CASE("killed again and again, while it writes, too") {
  const Folder folder;
  const auto whole = uninterrupted(folder);
  const std::string file = folder / "f";
  // -> how a training ends that goes on from the file, saves after each batch and is killed after so long.
  using Time = std::chrono::microseconds;
  const auto train = [&](int threads, std::optional<Time> end, bool small_files = false) {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{3000, 3000};  // a larger file kills who writes it
      if (small_files) setrlimit(RLIMIT_FSIZE, &limit);
      Training training(file, threads);
      if (training.checkpoint.exists()) training.checkpoint.load();
      training.run([&](int) { return training.checkpoint.save(), false; });
      training.checkpoint.save();
      _exit(0);
    }
    REQUIRE(child > 0);
    if (end) {
      std::this_thread::sleep_for(*end);
      kill(child, SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  };
  CHECK(train(1, {}, true) == SIGXFSZ);
  CHECK_FALSE(std::filesystem::exists(file));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(train(1, {}) == 0);
  const auto most = std::chrono::duration_cast<Time>(std::chrono::steady_clock::now() - begin) / 3;
  std::filesystem::remove(file);
  int killed = 0;
  for (int i = 0; i < 25; ++i) {
    const auto random = rng::draw(Seed{7}, rng::Stream::tensor, 0, 0, std::uint32_t(i))[0];
    killed += train(1 + i % 3, Time(random % (most.count() + 1))) == SIGKILL;
  }
  MESSAGE("killed ", killed, " times");
  if (std::filesystem::exists(file)) {
    const auto before = read_bytes(file);
    CHECK(train(1, {}, true) == SIGXFSZ);
    CHECK(read_bytes(file) == before);
  }
  CHECK(train(2, {}) == 0);
  CHECK(read_bytes(file) == whole);
}

TEST_CASE("what does not fit is named with both values, and nothing changes") {
  const Folder folder;
  const std::string file = folder / "f", wrong = file + ": does not fit this training: ";
  Training training(file);
  training.run([](int seen) { return seen == 9; });
  training.checkpoint.save();
  const auto bytes = read_bytes(file);

  // Loads into other things; they save the same before and after.
  const auto refusal = [&](auto&... things) {
    const io::Checkpoint other{folder / "other", things...};
    other.save();
    const auto before = read_bytes(folder / "other");
    write(folder / "other", bytes);
    const std::string message = thrown<DataError>([&] { other.load(); });
    other.save();
    CHECK(read_bytes(folder / "other") == before);
    const std::string path = folder / "other";
    return message.starts_with(path) ? file + message.substr(path.size()) : message;
  };
  io::Entry best{"best", training.best}, renamed{"worst", training.best};
  const auto with_loader = [&](data::DataLoaderOptions options, std::size_t samples) {
    data::DataLoader train{Pictures(samples), transform, options};
    return refusal(training.trainer, train, training.schedule, training.ema, training.plateau, best);
  };
  CHECK(with_loader({.batch_size = 16, .shuffle = true, .seed = Seed{5}}, 50) ==
        wrong + "\"loader.batch_size\": expected 16, got 8");
  CHECK(with_loader({.batch_size = 8, .seed = Seed{6}}, 60) ==
        wrong +
            "\"loader.samples\": expected 60, got 50; \"loader.shuffle\": expected 0, got 1; "
            "\"loader.seed\": expected 6, got 5");
  CHECK(refusal(training.trainer, training.train, training.schedule, training.ema, training.plateau) ==
        wrong + "\"best\": expected no such tensor, got one of shape (2,)");
  CHECK(
      refusal(training.trainer, training.train, training.schedule, training.ema, training.plateau, renamed) ==
      wrong +
          "\"worst\": expected shape (2,), got no such tensor; \"best\": expected no such tensor, got one of "
          "shape (2,)");
  {
    Ema other{training.model, 0.5};
    other.update();
    CHECK(refusal(training.trainer, training.train, training.schedule, other, training.plateau, best) ==
          wrong + "\"ema.decay\": expected 0.5, got 0.9");
  }
  {
    Grouped<Adam> options{{.amsgrad = true}, {{"fc1.weight", {}}}};
    Trainer other{training.model, CrossEntropyLoss{}, options, ClipNorm{1}};
    const std::string message =
        refusal(other, training.train, training.schedule, training.ema, training.plateau, best);
    CHECK(message == wrong +
                         "\"optimizer\": expected Adam, got AdamW; \"optimizer.param_groups.1.name\": "
                         "expected fc1.weight, got fc1; \"clip.max_norm\": expected 1, got 0.5");
  }
  {
    StepLR step{.step_size = 3};
    auto optimizer = Grouped<AdamW>{{}, {{"fc1", {}}}};
    Scheduler other{optimizer, step};
    const std::string message =
        refusal(training.trainer, training.train, other, training.ema, training.plateau, best);
    CHECK(message.starts_with(wrong +
                              "\"schedule\": expected StepLR, got OneCycleLR; \"schedule.step_size\": "
                              "expected shape (), got no such tensor; "));
  }
  {
    Model<Sequential<Named<"conv1", Conv2d<1, 4, 3>>, Flatten, Named<"fc1", Linear<144, 6>>>, Input<1, 8, 8>>
        model{Seed{2}};
    Trainer other{model, CrossEntropyLoss{}, Grouped<AdamW>{{}, {{"fc1", {}}}}, ClipNorm{.max_norm = 0.5}};
    Ema average{model, 0.9};
    const std::string message =
        refusal(other, training.train, training.schedule, average, training.plateau, best);
    CHECK(message.starts_with(wrong +
                              "\"model.seed\": expected 2, got 1; \"model.fc1.weight\": expected shape "
                              "(6, 144), got (5, 144); \"model.fc1.bias\""));
    CHECK(message.find("\"model.bn1.running_mean\": expected no such tensor, got one of shape (4,)") !=
          message.npos);
  }
  for (const bool strict : {true, false})
    CHECK(thrown<DataError>([&] { io::load_model(training.model, file, strict); }) ==
          file +
              ": this is a checkpoint of a training, whose parameters stand under \"model.\": io::Checkpoint "
              "loads it");
  io::save_model(training.model, file);
  CHECK(thrown<DataError>([&] { training.checkpoint.load(); }) ==
        file + ": is no checkpoint of this version: note kern.checkpoint: expected 1, got no such note");
  write(file, {bytes.begin(), bytes.end() - 5});
  CHECK(thrown<DataError>([&] { training.checkpoint.load(); }).starts_with(file + ": "));
}

namespace {
struct Counted {
  std::int64_t done = 0;
  std::vector<std::int32_t> each{1, 2};
  template <class Visitor>
  void state(Visitor& v) {
    v.within("epochs.", [&] {
      v.count("done", done);
      v.count("each", each);
    });
  }
};
}  // namespace

TEST_CASE("counts that no training has are refused") {
  const Folder folder;
  Counted counted{.done = 3}, other;
  const io::Checkpoint checkpoint{folder / "f", counted}, into{folder / "f", other};
  checkpoint.save();
  into.load();
  CHECK(other.done == 3);
  counted = {.done = std::numeric_limits<std::int64_t>::max(), .each = {4, -1}};
  checkpoint.save();
  CHECK(thrown<DataError>([&] { into.load(); }) ==
        folder / "f" +
            ": does not fit this training: \"epochs.done\": expected 0 to 4611686018427387903, got "
            "9223372036854775807; \"epochs.each\": expected 0 to 1073741823, got -1");
  CHECK(other.done == 3);
  CHECK(other.each == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("two of a kind need names, and a checkpoint holds what PyTorch calls so") {
  const Folder folder;
  Training training(folder / "f");
  io::Checkpoint twice{folder / "g", training.train, training.train};
  CHECK(thrown<ArgumentError>([&] { twice.save(); }) ==
        "Checkpoint: two things have the name \"loader.samples\": give one another, Entry{\"name\", thing}");
  data::DataLoader other{Pictures(3), transform};
  other.set_epoch(3, 2);
  io::Checkpoint named{folder / "g", training.train, io::Entry{"other", other}};
  named.save();
  const io::SafetensorsFile file(folder / "g");
  CHECK(file.values<std::uint32_t>("other.loader.epoch") == std::vector<std::uint32_t>{3});
  CHECK(file.values<std::uint64_t>("other.loader.batch") == std::vector<std::uint64_t>{2});

  training.run([](int seen) { return seen == 9; });
  training.checkpoint.save();
  const io::SafetensorsFile all(folder / "f");
  CHECK(all.values<float>("model.conv1.weight") == training.model.parameter("conv1.weight"));
  CHECK(all.values<float>("model.bn1.running_var") == training.model.buffer("bn1.running_var"));
  for (const char* state : {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    CHECK(all.find(text("optimizer.state.", state, ".fc1.weight"))->shape ==
          std::vector<std::int64_t>{5, 144});
  CHECK(all.values<double>("optimizer.param_groups.1.lr") ==
        std::vector{training.trainer.optimizer().groups[0].options.lr});
  CHECK(all.values<std::int64_t>("trainer.batches") == std::vector<std::int64_t>{9});
}

namespace {
/// A small training with an optimizer and a schedule after each step goes on in another one.
template <class Optimizer, class Schedule>
void check_resumed(const Optimizer& optimizer, const Schedule& s) {
  const Folder folder;
  const Pictures pictures(8);
  Tensor<float, Shape<dyn, 64>> images(8);
  for (std::size_t i = 0; i < images.size(); ++i) images.data()[i] = float(pictures.bytes[i]) / 255;
  const std::vector<std::int32_t> labels{0, 1, 2, 3, 4, 0, 1, 2};
  const auto train = [&](int first, int last, const std::string& from, const std::string& to) {
    Model<Sequential<Linear<64, 5>>, Input<64>> model{Seed{1}};
    Trainer trainer{model, CrossEntropyLoss{}, optimizer};
    Scheduler schedule{trainer.optimizer(), s};
    if (first > 0) io::Checkpoint{from, trainer, schedule}.load();
    for (int i = first; i < last; ++i) {
      trainer.step(images, labels);
      schedule.step(trainer.optimizer());
    }
    io::Checkpoint{to, trainer, schedule}.save();
    return read_bytes(to);
  };
  const auto whole = train(0, 6, "", folder / "whole");
  train(0, 3, "", folder / "half");
  CHECK(train(3, 6, folder / "half", folder / "resumed") == whole);
}
}  // namespace

TEST_CASE("every optimizer and every schedule") {
  check_resumed(Sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true}, StepLR{.step_size = 2});
  check_resumed(Sgd{.lr = 0.1}, MultiStepLR{.milestones = {2, 4}});
  check_resumed(Adam{.lr = 0.01}, ExponentialLR{.gamma = 0.9});
  check_resumed(RMSprop{.lr = 0.01, .momentum = 0.5, .centered = true}, CosineAnnealingLR{.T_max = 5});
  check_resumed(Adagrad{.lr_decay = 0.1, .initial_accumulator_value = 0.2}, LinearLR{});
}
