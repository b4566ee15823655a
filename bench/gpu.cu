// Two nets on a GPU: whether they learn what they learn on the host, how long that takes, and each kernel
// against what the device's memory and arithmetic allow. `./dev gpu-check` runs it.
//   gpu_check OUT.json [--quick] [--seconds S]
//   gpu_check --expect       what an H200 should need, as Markdown; no GPU is asked
// --quick: tiny sizes, only to see that all of it runs. --seconds: no round of measurements begins after S
// (60). Exit status: 0; 1: no usable GPU, or a call failed; 2: wrong arguments; 3: the losses part.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kern/cuda/cuda.hpp"
#include "kern/kern.hpp"
#include "nets.hpp"
#include "results.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using namespace bench;

struct Options {
  std::string out;
  bool quick = false;
  double seconds = 60;

  std::array<int, 2> batches() const { return quick ? std::array{2, 3} : std::array{64, 512}; }
  int epoch(int samples) const { return quick ? 5 : samples; }
  int compared_steps() const { return quick ? 2 : 10; }
  int rounds() const { return quick ? 1 : 9; }
  int steps() const { return quick ? 1 : 50; }    // between two events
  int repeats() const { return quick ? 2 : 20; }  // of a kernel
  /// Far more than a cache holds.
  std::size_t copied() const {
    return (quick ? std::size_t{1} << 12 : std::size_t{1} << 28) / sizeof(float4);
  }
  int multiply_adds() const { return quick ? 16 : 1 << 14; }
};
constexpr double close_enough = 2e-5;  // of a loss on the host

/// Seconds between an event before f() and one behind it.
template <class F>
double seconds(const Cuda& where, F&& f) {
  gpu::Event first(where.device, gpu::Event::Timing::on), last(where.device, gpu::Event::Timing::on);
  first.record(where);
  f();
  last.record(where);
  last.synchronize();
  return double(gpu::milliseconds(first, last)) / 1e3;
}

// --- what the device can do --------------------------------------------------------------------------------

__global__ void nothing() {}
__global__ void copy_fours(std::size_t n, const float4* from, float4* to) {
  gpu::for_each(n, [=](std::size_t i) { to[i] = from[i]; });
}
constexpr int chains = 8;
/// Chains of multiply-adds that do not wait for each other. out is written in no case that occurs.
__global__ void multiply_add(int n, float a, float b, float* out) {
  float x[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) x[c] = float(c) + float(threadIdx.x);
#pragma unroll 4
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int c = 0; c < chains; ++c) x[c] = x[c] * a + b;
  float sum = 0;
#pragma unroll
  for (int c = 0; c < chains; ++c) sum += x[c];
  if (sum == 12345.f) *out = sum;
}

struct Probes {
  Probes(const Options& o, const Cuda& where)
      : o_(o), where_(where), from_(o.copied(), where), to_(o.copied(), where), out_(1, where) {
    cudaDeviceProp p;
    gpu::check(cudaGetDeviceProperties(&p, where.device), "cudaGetDeviceProperties");
    multiprocessors_ = unsigned(p.multiProcessorCount);
  }
  void round() {
    const double bytes = 2. * double(o_.copied()) * sizeof(float4) * o_.repeats();
    copy.push_back(bytes / repeated("copy", copy_fours, gpu::grid_for(o_.copied()), o_.copied(), from_.data(),
                                    to_.data()));
    const gpu::Grid grid{dim3(o_.quick ? 1 : multiprocessors_ * 16), dim3(256)};
    const double flops =
        2. * chains * o_.multiply_adds() * grid.blocks.x * grid.threads.x * double(o_.repeats());
    fma.push_back(flops /
                  repeated("multiply_add", multiply_add, grid, o_.multiply_adds(), .999f, .01f, out_.data()));
    launch.push_back(repeated("nothing", nothing, gpu::Grid{}) / o_.repeats());
  }
  std::vector<double> copy, fma, launch;  // bytes a second, read and written; FLOPs a second; seconds

 private:
  template <class Kernel, class... Arguments>
  double repeated(const char* name, Kernel* kernel, const gpu::Grid& grid, Arguments... arguments) {
    gpu::launch(name, kernel, grid, where_, arguments...);
    return seconds(where_, [&] {
      for (int i = 0; i < o_.repeats(); ++i) gpu::launch(name, kernel, grid, where_, arguments...);
    });
  }
  Options o_;
  Cuda where_;
  gpu::Buffer<float4> from_, to_;
  gpu::Buffer<float> out_;
  unsigned multiprocessors_ = 1;
};

/// Times every launch by doing it some times more, from a graph: without gaps that the host makes. What it
/// reads is in the caches then, as far as these reach.
class KernelTimes : public gpu::LaunchObserver {
 public:
  explicit KernelTimes(int repeats) : repeats_(repeats) {}
  void launched(const Launched& l) override {
    texts.push_back(gpu::launch_text(l.kernel, l.grid));
    times.push_back(time(l));
  }
  std::vector<std::string> texts;
  std::vector<double> times;  // seconds; NaN: none, for the launch itself became part of a graph

 private:
  double time(const Launched& l) const {
    cudaStreamCaptureStatus status{};
    gpu::check(cudaStreamIsCapturing(l.where.stream, &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusNone) return std::nan("");
    gpu::check(cudaStreamBeginCapture(l.where.stream, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < repeats_ && error == cudaSuccess; ++i) error = l.again();
    cudaGraph_t graph{};
    const cudaError_t ended = cudaStreamEndCapture(l.where.stream, &graph);
    gpu::check(error, l.kernel);
    gpu::check(ended, "cudaStreamEndCapture");
    cudaGraphExec_t all{};
    const cudaError_t made = cudaGraphInstantiate(&all, graph, 0);
    cudaGraphDestroy(graph);
    gpu::check(made, "cudaGraphInstantiate");
    const auto run = [&] { gpu::check(cudaGraphLaunch(all, l.where.stream), "cudaGraphLaunch"); };
    run();
    const double s = seconds(l.where, run) / repeats_;
    cudaGraphExecDestroy(all);
    return s;
  }
  int repeats_;
};

// --- what we expect
// -----------------------------------------------------------------------------------------

/// Of an H200: the maker's figures, and guesses; docs/performance.md has the arithmetic.
struct Expected {
  static constexpr double bandwidth = 4.8e12, flops_a_second = 67e12;
  static constexpr int multiprocessors = 132, lanes = 128;
  static constexpr double start = 2e-6;        // a kernel's first and last moments
  static constexpr double multiply_adds = .5;  // of the cycles of a lane that has work
  static constexpr double copy = 12e9;         // bytes a second, from the host

  /// The share of all lanes that a grid gives work.
  static double share(const gpu::Grid& g) {
    const double blocks = double(g.blocks.x) * g.blocks.y * g.blocks.z,
                 each = std::ceil(blocks / multiprocessors);
    return blocks / (each * multiprocessors) * std::min(1., each * g.threads.x / lanes);
  }
  template <class Launch>
  static double seconds(const Launch& l) {
    const double memory = (l.work.read + l.work.written) / bandwidth,
                 arithmetic = l.flops / (flops_a_second * share(l.work.grid) * multiply_adds);
    return start + std::max(memory, arithmetic);
  }
  template <class Launches>
  static double step(const Launches& all, double sample_bytes) {
    double s = sample_bytes / copy;  // the host gets the loss, and readies the next step, meanwhile
    for (const auto& l : all) s += seconds(l);
    return s;
  }
};

// --- nets --------------------------------------------------------------------------------------------------

template <class In>
struct Samples {
  explicit Samples(int n) : images(randn<float, typename In::Batch>(Seed{1}, n)) {
    for (int i = 0; i < n; ++i) labels.push_back(i * 7 % 10);
  }
  Tensor<float, typename In::Batch> images;
  std::vector<std::int32_t> labels;
};
/// Pictures of bytes, as files hold them.
template <class In>
struct Pictures {
  using Sample = typename In::Sample;
  std::size_t count;
  std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(std::size_t(In::dims.size()) + 256);
  std::size_t size() const { return count; }
  static int classes() { return 10; }
  data::Record get(std::size_t i) const {
    return {std::span(pixels).subspan(i % 256, std::size_t(In::dims.size())), int(i % 10)};
  }
};

template <class Net, class In>
class Check {
 public:
  Check(const char* name, int samples, const Options& o)
      : name_(name),
        o_(o),
        model_(Seed{0}, stream_.where()),
        trainer_(model_, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}),
        loader_(pictures(o.epoch(samples)), data::ToTensor{},
                {.batch_size = o.batches()[0], .shuffle = true}) {
    for (const int n : o.batches()) batches_.emplace_back(n);
    for (const int n : o.batches())
      launches_.push_back(graph::Launches<Net, In, gpu::Backend<float>>::step(n));
    kernels_.resize(batches_.size());
    for (std::size_t b = 0; b < batches_.size(); ++b) kernels_[b].resize(launches_[b].size());
  }

  /// Steps from the same seeds, here and there. -> whether the losses are alike.
  bool compare() {
    host_ = losses(Host{}), device_ = losses(stream_.where());
    for (std::size_t i = 0; i < host_.size(); ++i)
      apart_ = std::max(apart_, std::abs(host_[i] - device_[i]) / std::max(1., std::abs(host_[i])));
    return agrees();
  }
  void round() {
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const auto& s = batches_[b];
      const std::string n = text(s.labels.size());
      const auto time = [&](const std::string& what, auto&& once) {
        once();
        times_[what].push_back(seconds(stream_.where(),
                                       [&] {
                                         for (int i = 0; i < o_.steps(); ++i) once();
                                       }) /
                               o_.steps());
      };
      time("step, batch " + n, [&] { trainer_.step(s.images, s.labels); });
      time("inference, batch " + n, [&] { model_.predict(s.images); });
    }
    times_["epoch"].push_back(seconds(stream_.where(), [&] {
      for (const auto& batch : loader_) trainer_.step(batch);
    }));
    // A model's first step, for a later one may be a graph of launches that are past. Its repeated updates
    // must not lead away.
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      Model<Net, In, Cuda> model{Seed{0}, stream_.where()};
      Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0, .momentum = 0.9}};
      KernelTimes seen(o_.repeats());
      trainer.step(batches_[b].images, batches_[b].labels);
      as_listed_ = as_listed_ && seen.texts.size() == launches_[b].size();
      for (std::size_t i = 0; as_listed_ && i < seen.texts.size(); ++i) {
        as_listed_ = seen.texts[i] == to_string(launches_[b][i].work);
        kernels_[b][i].push_back(seen.times[i]);
      }
    }
  }

  std::string report(double bandwidth, double flops_a_second) const {
    std::printf("\n%s: losses of %zu steps %s the host's (%.1e apart)\n", name_, host_.size(),
                agrees() ? "are" : "ARE NOT", apart_);
    Fields times;
    for (const auto& [what, v] : times_) {
      times.emplace_back(what, json(timing(v)));
      std::printf("  %-22s %12.1f us\n", what.c_str(), median(v) * 1e6);
    }
    if (!as_listed_) std::printf("  what was launched is not what explain lists\n");
    std::vector<std::string> steps;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const double step = Expected::step(launches_[b], double(batches_[b].images.size()) * sizeof(float));
      std::printf(
          "  batch %zu, us: measured, expected of an H200 (a step: %.0f), the least by this GPU's roofline\n",
          batches_[b].labels.size(), step * 1e6);
      std::vector<std::string> kernels;
      double all = 0, least = 0, expected = 0;
      for (std::size_t i = 0; i < launches_[b].size(); ++i) {
        const auto& l = launches_[b][i];
        const double s = median(kernels_[b][i]);
        const double memory = (l.work.read + l.work.written) / bandwidth,
                     arithmetic = l.flops / flops_a_second;
        const double bound = std::max(memory, arithmetic);
        all += s, least += bound, expected += Expected::seconds(l);
        std::printf("    %-9s %-3s %-30s %9.2f %9.2f %9.2f %5.0f %% %s\n", graph::part_text(l.part),
                    l.stage < 0 ? "" : text(l.stage).c_str(), l.work.kernel, s * 1e6,
                    Expected::seconds(l) * 1e6, bound * 1e6, 100 * bound / s,
                    memory > arithmetic ? "memory" : "FLOPs");
        kernels.push_back(json({{"part", quoted(graph::part_text(l.part))},
                                {"stage", json(l.stage)},
                                {"launch", quoted(to_string(l.work))},
                                {"read", json(l.work.read)},
                                {"written", json(l.work.written)},
                                {"flops", json(l.flops)},
                                {"roofline_seconds", json(bound)},
                                {"expected_seconds", json(Expected::seconds(l))},
                                {"rounds", list(kernels_[b][i])},
                                {"seconds", json(s)}}));
      }
      std::printf("    %-44s %9.2f %9.2f %9.2f %5.0f %%\n", "all", all * 1e6, expected * 1e6, least * 1e6,
                  100 * least / all);
      steps.push_back(json({{"batch", json(double(batches_[b].labels.size()))},
                            {"kernels_seconds", json(all)},
                            {"roofline_seconds", json(least)},
                            {"expected_step_seconds", json(step)},
                            {"kernels", list(kernels)}}));
    }
    return json({{"net", quoted(name_)},
                 {"losses_host", list(host_)},
                 {"losses_device", list(device_)},
                 {"losses_apart", json(apart_)},
                 {"losses_agree", agrees() ? "true" : "false"},
                 {"launches_as_explained", as_listed_ ? "true" : "false"},
                 {"times", json(times)},
                 {"steps", list(steps)}});
  }
  bool agrees() const { return apart_ <= close_enough; }
  bool as_listed() const { return as_listed_; }

 private:
  static Pictures<In> pictures(int n) {
    Pictures<In> p{std::size_t(n)};
    for (std::size_t i = 0; i < p.pixels.size(); ++i) p.pixels[i] = std::uint8_t(i * 2654435761u >> 13);
    return p;
  }
  template <class Device>
  std::vector<double> losses(const Device& device) const {
    Model<Net, In, Device> model{Seed{3}, device};
    Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = 0.9}};
    const Samples<In> s(o_.batches()[0]);
    std::vector<double> all;
    for (int i = 0; i < o_.compared_steps(); ++i) all.push_back(double(trainer.step(s.images, s.labels)));
    return all;
  }

  const char* name_;
  Options o_;
  gpu::Stream stream_;
  Model<Net, In, Cuda> model_;
  Trainer<Model<Net, In, Cuda>, CrossEntropyLoss<>, Sgd> trainer_;
  data::DataLoader<Pictures<In>, data::ToTensor> loader_;
  std::vector<Samples<In>> batches_;
  std::vector<std::vector<typename graph::Launches<Net, In, gpu::Backend<float>>::Launch>> launches_;
  std::vector<double> host_, device_;
  double apart_ = 0;
  bool as_listed_ = true;
  std::map<std::string, std::vector<double>> times_;
  std::vector<std::vector<std::vector<double>>> kernels_;  // by batch, launch, round
};

/// A line a kernel, and the step: the table of docs/performance.md.
template <class Net, class In>
void print_expected(const char* name, int samples) {
  constexpr int batch = 64;
  const auto launches = graph::Launches<Net, In, gpu::Backend<float>>::step(batch);
  double kernels = 0;
  for (const auto& l : launches) {
    const double s = Expected::seconds(l), bytes = l.work.read + l.work.written;
    kernels += s;
    const std::string flops = l.flops > 0 ? graph::in_units(l.flops) : "";
    const gpu::Grid& g = l.work.grid;
    std::printf("| %s | %s%s | `%s` | %u | %u | %.2f | %s | %.0f %% | %.1f |\n", name,
                graph::part_text(l.part), l.stage < 0 ? "" : text(" ", l.stage).c_str(), l.work.kernel,
                g.blocks.x * g.blocks.y * g.blocks.z, g.threads.x, bytes / 1e6, flops.c_str(),
                100 * Expected::share(g), s * 1e6);
  }
  const double step = Expected::step(launches, double(batch) * In::dims.size() * sizeof(float));
  std::printf("| %s | all %zu kernels | | | | | | | %.0f |\n", name, launches.size(), kernels * 1e6);
  std::printf("| %s | **step** | | | | | | | **%.0f** |\n", name, step * 1e6);
  std::printf("| %s | **epoch**, %d samples | | | | | | | **%.2f s** |\n", name, samples,
              step * ((samples + batch - 1) / batch));
}
int expect() {
  std::puts("| net | part, stage | kernel | blocks | threads | MB | FLOPs | lanes | us |");
  std::puts("|---|---|---|---|---|---|---|---|---|");
  print_expected<LeNet, Input<1, 28, 28>>("lenet", 60000);
  print_expected<Cifar10, Input<3, 32, 32>>("cifar10", 50000);
  return 0;
}

int run(const Options& o) {
  const CudaFacts facts = cuda_facts();
  const Verdict verdict = diagnose(facts);
  std::printf("%s%s%s\n", verdict.text.c_str(), verdict.remedy.empty() ? "" : " ", verdict.remedy.c_str());
  if (!verdict.usable()) return 1;
  std::ofstream file(o.out);
  if (!file) throw Error(text(o.out, ": cannot be written"));
  const auto begin = std::chrono::steady_clock::now();

  Check<LeNet, Input<1, 28, 28>> lenet("lenet", 60000, o);
  Check<Cifar10, Input<3, 32, 32>> cifar10("cifar10", 50000, o);
  const bool lenet_agrees = lenet.compare(), agree = cifar10.compare() && lenet_agrees;

  const gpu::Stream stream;
  Probes probes(o, stream.where());
  int rounds = 0;
  const auto time_left = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < o.seconds;
  };
  for (; rounds < o.rounds() && (rounds == 0 || time_left()); ++rounds) {
    probes.round();
    lenet.round();
    cifar10.round();
  }

  const double bandwidth = median(probes.copy), arithmetic = median(probes.fma);
  std::printf("%s%d rounds; copy %.1f GB/s, multiply-adds %.2f TFLOPS, a launch %.2f us\n",
              o.quick ? "QUICK: these are no measurements. " : "", rounds, bandwidth / 1e9, arithmetic / 1e12,
              median(probes.launch) * 1e6);
  const std::vector<std::string> nets{lenet.report(bandwidth, arithmetic),
                                      cifar10.report(bandwidth, arithmetic)};
  file << json({{"device", quoted(facts.devices[0].name)},
                {"driver", quoted(facts.driver)},
                {"driver_cuda", json(facts.driver_cuda)},
                {"toolkit", json(facts.toolkit)},
                {"verdict", quoted(verdict.text)},
                {"measured", o.quick ? "false" : "true"},
                {"rounds", json(rounds)},
                {"copy_bytes_a_second", json(bandwidth)},
                {"flops_a_second", json(arithmetic)},
                {"launch_seconds", json(median(probes.launch))},
                {"nets", list(nets)}})
       << "\n";
  if (!file.flush()) throw Error(text(o.out, ": cannot be written"));
  return agree && lenet.as_listed() && cifar10.as_listed() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  bool good = true;
  if (argc == 2 && std::string_view(argv[1]) == "--expect") return expect();
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--quick") {
      o.quick = true;
    } else if (a == "--seconds" && i + 1 < argc) {
      const std::string_view v = argv[++i];
      const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), o.seconds);
      good = good && error == std::errc() && end == v.data() + v.size();
    } else if (o.out.empty() && !a.starts_with("-")) {
      o.out = a;
    } else {
      good = false;
    }
  }
  if (!good || o.out.empty()) {
    std::fputs("usage: gpu_check OUT.json [--quick] [--seconds S]\n       gpu_check --expect\n", stderr);
    return 2;
  }
  return run(o);
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
