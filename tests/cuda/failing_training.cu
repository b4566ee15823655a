// Makes a model, trains it, evaluates and predicts, while PTXCPU_FAIL makes one call fail; whatever fails is
// tried once more. The error must name the call, nothing may be lost, and losses, outputs and parameters must
// be, bit for bit, those of a training in which nothing failed. Exit status 3: it was so. 4: nothing failed.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kern/cuda/cuda.hpp"
#include "kern/kern.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using Net = Sequential<Conv2d<1, 4, 3, 1, 1>, ReLU, MaxPool2d<2>, Conv2d<4, 8, 3>, Dropout2d<0.25>, Flatten,
                       Linear<128, 20>, ReLU, Dropout<0.5>, Linear<20, 5>, LogSoftmax>;
using Input = kern::Input<1, 12, 12>;

struct Batch {
  explicit Batch(int n) : images(kern::randn<float, Input::Batch>(Seed{3}, n)) {
    for (int i = 0; i < n; ++i) labels.push_back(i * 7 % 5);
  }
  Tensor<float, Input::Batch> images;
  std::vector<std::int32_t> labels;
};

struct Wrong {
  std::string what;
};

/// How often something failed, and whether the device is lost.
struct Failures {
  int count = 0;
  bool device_lost = false;
};

void look_at(const CudaError& e, Failures& failures) {
  std::printf("%s\n", e.what());
  if (++failures.count > 1 && !failures.device_lost) throw Wrong{"a second failure"};
  failures.device_lost = e.code == int(cudaErrorLaunchFailure);
  if (e.call.starts_with("launch of") == e.launch.kernel.empty())
    throw Wrong{"a launch has a kernel, others not"};
  if (!failures.device_lost && cudaGetLastError() != cudaSuccess) throw Wrong{"CUDA still holds an error"};
}
/// f(), and once more if it fails. A lost device stays so, in CUDA's words.
template <class F>
void attempt(F f, Failures& failures) {
  try {
    return f();
  } catch (const CudaError& e) {
    look_at(e, failures);
  }
  try {
    f();
  } catch (const CudaError&) {
    if (!failures.device_lost) throw;
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// All numbers that come out on the way: losses, parameters, outputs.
std::vector<float> everything(Failures& failures) {
  std::vector<float> all;
  const auto keep = [&](const float* p, std::size_t n) { all.insert(all.end(), p, p + n); };
  const Batch batches[]{Batch(3), Batch(7)};
  std::unique_ptr<Model<Net, Input, Cuda>> model;
  attempt([&] { model = std::make_unique<Model<Net, Input, Cuda>>(Seed{1}); }, failures);
  if (!model) return all;
  Trainer trainer{*model, CrossEntropyLoss{}, Sgd{.lr = 0.05, .momentum = 0.9, .dampening = 0.5},
                  ClipNorm{.max_norm = 0.5}};
  const auto parameters = [&] {
    std::vector<float> now;
    for (const auto& name : model->parameter_names()) {
      const auto v = model->parameter(name);
      now.insert(now.end(), v.begin(), v.end());
    }
    return now;
  };
  const auto keep_parameters = [&] {
    std::vector<float> now;
    attempt([&] { now = parameters(); }, failures);
    keep(now.data(), now.size());
    return now;
  };
  std::vector<float> before = keep_parameters();
  attempt(
      [&] {
        const float loss = trainer.accumulate(batches[0].images, batches[0].labels);
        keep(&loss, 1);
      },
      failures);
  for (const int i : {0, 1, 1, 0}) {  // the second needs more memory
    const int failed = failures.count;
    bool first = true;
    attempt(
        [&] {
          if (!first && !failures.device_lost && !same_bits(before, parameters()))
            throw Wrong{"a step that failed has changed the parameters"};
          first = false;
          const float loss = trainer.step(batches[i].images, batches[i].labels);
          keep(&loss, 1);
        },
        failures);
    if (failures.count == failed && first) throw Wrong{"no step was done"};
    before = keep_parameters();
  }
  attempt(
      [&] {
        const float loss = float(trainer.evaluate(batches).loss);
        keep(&loss, 1);
      },
      failures);
  attempt(
      [&] {
        const auto y = model->predict(batches[1].images);
        keep(y.data(), y.size());
      },
      failures);
  if (!failures.device_lost && trainer.steps() != 4) throw Wrong{"steps are counted wrong"};
  return all;
}

}  // namespace

int main() {
  try {
    Failures failures;
    const std::vector<float> got = everything(failures);
    if (failures.count == 0) return 4;
    if (failures.device_lost) return 3;
    Failures none;
    const std::vector<float> expected = everything(none);
    if (none.count) throw Wrong{"a second failure"};
    if (!same_bits(got, expected)) throw Wrong{"a training that went on after a failure ends elsewhere"};
    return 3;
  } catch (const Wrong& w) {
    std::printf("wrong: %s\n", w.what.c_str());
  } catch (const Error& e) {
    std::printf("unexpected: %s\n", e.what());
  }
  return 1;
}
