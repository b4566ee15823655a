// What every trainer does, whatever its net and its data: epochs, curves, saved parameters, speed.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <kern/cuda/cuda.hpp>
#include <kern/io/checkpoint.hpp>
#include <kern/io/safetensors.hpp>
#include <kern/kern.hpp>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "log.hpp"
#include "options.hpp"
#include "pictures.hpp"
#include "progress.hpp"

/// What is trained on.
template <class Sample>
struct Data {
  std::string name;  // in the first line, and of the folder under runs
  std::string mark;  // ends each line with a result; empty for published data
  Pictures<Sample> train, test;
};

/// How a device did.
struct Run {
  std::string device;
  double seconds = 0;  // of training steps
  double images_per_second = 0;
  double accuracy = 0;  // of the last epoch
};

/// Throws DataError where `file` can't be written, as far as its folder tells: before an epoch has gone by.
inline void require_writable(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::path(file).parent_path(), folder = parent.empty() ? fs::path(".") : parent;
  const auto refuse = [&](const std::string& why) {
    throw kern::DataError(kern::text(file, ": cannot be written: ", why));
  };
  std::error_code none;
  if (!fs::is_directory(folder, none)) refuse("there is no folder " + folder.string());
  if (fs::exists(file, none) && !fs::is_regular_file(file, none)) refuse("is not a file");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(folder.string() + ": " + std::generic_category().message(errno));
}

/// A whole test set's loss is the sum of its batches', as in PyTorch's tutorials.
template <class Trainer, class Loader>
kern::Evaluation evaluate(Trainer& trainer, Loader& test) {
  kern::Evaluation whole;
  for (const auto& batch : test) {
    const kern::Evaluation e = trainer.evaluate(std::span{&batch, 1});
    whole.loss += e.loss;
    whole.accuracy += e.accuracy * double(e.count);
    whole.count += e.count;
  }
  whole.accuracy /= double(whole.count);
  return whole;
}

/// Trains on one device; curves and parameters go into the folder `out`.
template <class Net, class Input, class Device, class Sample, class Transform>
Run train_on(const Device& device, const std::string& device_text, const Options& o, const Data<Sample>& set,
             const Transform& transform, const std::string& out) {
  using namespace kern;
  auto train = data::make_loader(device, set.train, transform,
                                 {.batch_size = o.batch_size, .shuffle = true, .seed = Seed{o.seed}});
  auto test = data::make_loader(device, set.test, transform, {.batch_size = o.batch_size});
  Model<Net, Input, Device> model{Seed{o.seed}, device};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = o.lr, .momentum = o.momentum}};
  Log log{out};
  if (!o.checkpoint.empty()) require_writable(o.checkpoint);  // behind Log, which makes a folder
  const std::string parameters = out + "/model.safetensors";
  const io::Checkpoint checkpoint{o.checkpoint, trainer, train};
  if (!o.resume.empty()) io::Checkpoint{o.resume, trainer, train}.load();
  const int first = int(train.epoch());
  if (first >= o.epochs)
    throw ArgumentError(
        text(o.resume, ": epochs done: ", first, "; to go on, --epochs must be larger, got ", o.epochs));

  std::printf("device: %s", device_text.c_str());
  if constexpr (std::is_same_v<Device, Host>)
    std::printf(", %d thread%s, %d-bit vectors", model.threads(), model.threads() == 1 ? "" : "s",
                8 * simd::register_bytes);
  std::printf("\n");
  if (o.explain) {
    if constexpr (std::is_same_v<Device, Host>)
      std::printf("%s\n", explain<Net, Input>().c_str());
    else
      std::printf("%s\n", explain<Net, Input, Device>(o.batch_size).c_str());
  }

  Run run{device_text};
  std::size_t images = 0;
  for (int epoch = first + 1; epoch <= o.epochs; ++epoch) {
    // All of an epoch, or what is left of one that was stopped.
    Progress progress(epoch, o.epochs, train.size() - train.batch(),
                      set.train.size() - train.batch() * std::size_t(o.batch_size));
    double sum = 0;
    std::size_t done = 0;
    for (const auto& batch : train) {
      const double loss = double(trainer.step(batch));
      sum += loss * double(batch.size());
      done += batch.size();
      if (trainer.steps() % o.log_every == 0) {
        progress.clear();
        std::printf("step %lld  loss %.4f%s\n", static_cast<long long>(trainer.steps()), loss,
                    set.mark.c_str());
        log.add("train_loss", loss, trainer.steps());
      }
      if (o.checkpoint_every > 0 && trainer.steps() % o.checkpoint_every == 0 && !o.checkpoint.empty())
        checkpoint.save();
      progress.step(sum / double(done), done);
    }
    progress.clear();
    const double seconds = progress.seconds();
    const double mean = sum / double(std::max<std::size_t>(done, 1));  // nothing may be left of an epoch
    const Evaluation tested = evaluate(trainer, test);
    std::printf(
        "epoch %d/%d  train loss %.4f  test loss %.3f in total  test accuracy %.4f  %.2f s  %.0f "
        "images/s%s\n",
        epoch, o.epochs, mean, tested.loss, tested.accuracy, seconds, double(done) / seconds,
        set.mark.c_str());
    log.add("test_loss", tested.loss, epoch);
    log.add("test_accuracy", tested.accuracy, epoch);
    io::save_model(model, parameters, {{"data", set.name}});
    if (!o.checkpoint.empty()) checkpoint.save();
    run.seconds += seconds;
    images += done;
    run.accuracy = tested.accuracy;
  }
  const int epochs = o.epochs - first;
  run.images_per_second = double(images) / run.seconds;
  std::printf("test accuracy: %.4f%s\n", run.accuracy, set.mark.c_str());
  std::printf("%d epoch%s: %.1f s, %.0f images/s\n", epochs, epochs == 1 ? "" : "s", run.seconds,
              run.images_per_second);
  std::printf("written: %s, %s\n", log.path().c_str(), parameters.c_str());
  return run;
}

/// Trains a net as the options say: on a device, or on the host and then on a GPU.
template <class Net, class Input, class Sample, class Transform>
void train(const Options& o, const Data<Sample>& set, const Transform& transform) {
  std::vector<std::string> devices{o.device};
  if (o.compare) devices = {"cpu", o.device.starts_with("cuda") ? o.device : "cuda"};
  std::vector<kern::DeviceChoice> choices;  // at once: what can't be had is said before an epoch has gone by
  for (const std::string& device : devices) choices.push_back(kern::choose_device(device));

  std::string out = o.out;
  if (out.empty()) {
    char time[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", std::localtime(&now));
    out = "runs/" + set.name + "/" + time;
  }
  std::printf("data: %s, %zu training and %zu test images\n\n%s\n", set.name.c_str(), set.train.size(),
              set.test.size(), kern::summary<Net, Input>().c_str());

  std::vector<Run> runs;
  for (const kern::DeviceChoice& choice : choices)
    kern::on_device(choice, [&]<class Device>(Device device) {
      if constexpr (std::is_same_v<Device, kern::Host>) device.threads = o.threads;
      runs.push_back(train_on<Net, Input>(device, choice.text, o, set, transform,
                                          o.compare ? out + (choice.cuda ? "/cuda" : "/cpu") : out));
    });
  if (!o.compare) return;
  std::printf("\n%-8s %12s %12s %14s\n", "device", "s an epoch", "images/s", "test accuracy");
  for (const Run& r : runs)
    std::printf("%-8s %12.2f %12.0f %14.4f\n", r.device.c_str(), r.seconds / o.epochs, r.images_per_second,
                r.accuracy);
  std::printf("%s is %.1f times as fast%s\n", runs[1].device.c_str(), runs[0].seconds / runs[1].seconds,
              set.mark.c_str());
}
