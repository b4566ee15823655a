// kern's side of the comparison; protocol.hpp says how it is called.
//   --op infer|train     times a cell
//   --op losses          those of 10 training steps without dropout, one a line
//   --op outputs         the net's for one batch, one a line
//   --op start           seconds from the program's start to the end of the first training step, then peak
//                        memory of 100 more, KiB
//   --op epoch --data D  for each line that it reads an epoch of MNIST from its files, loader and
//                        normalisation included; prints its seconds
// --variant static|erased. losses and outputs take parameters and samples from a formula, so that others can
// compute the same.
#include <kern/kern.hpp>
#include <type_traits>

#include "protocol.hpp"

using namespace kern;
using namespace kern::nn;

namespace {

using A = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>, Flatten,
                     Linear<4608, 128>, ReLU, Dropout<0.5>, Linear<128, 10>, LogSoftmax>;
using WithoutDropout = Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Flatten,
                                  Linear<4608, 128>, ReLU, Linear<128, 10>, LogSoftmax>;
using B = Sequential<Conv2d<3, 32, 5, 1, 2>, MaxPool2d<2>, Conv2d<32, 32, 5, 1, 2>, MaxPool2d<2>,
                     Conv2d<32, 64, 5, 1, 2>, MaxPool2d<2>, Flatten, Linear<1024, 64>, Linear<64, 10>>;
using ImageA = Input<1, 28, 28>;
using ImageB = Input<3, 32, 32>;
template <class In>
constexpr double momentum = std::is_same_v<In, ImageA> ? 0.5 : 0.0;

const auto program_start = std::chrono::steady_clock::now();
double since_start() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - program_start).count();
}

template <class In>
Tensor<float, typename In::Batch> images(int batch, std::uint64_t seed) {
  return kern::rand<float, typename In::Batch>(Seed{seed}, batch);
}
std::vector<std::int32_t> some_labels(int batch) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < batch; ++i) labels.push_back(i * 7 % 10);
  return labels;
}

template <class Net, class In>
void time_cell(const peers::Cell& c) {
  Model<Net, In> model{Seed{1}, Host{c.threads}};
  if (c.op == "infer") {
    const auto x = images<In>(c.batch, 2);
    peers::measure(c, "kern", c.variant.c_str(), [&] { model.executor().infer(x.data(), c.batch); });
    return;
  }
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = momentum<In>}};
  std::vector<Tensor<float, typename In::Batch>> x;
  for (std::uint64_t i = 0; i < 8; ++i) x.push_back(images<In>(c.batch, i));
  const auto labels = some_labels(c.batch);
  std::size_t k = 0;
  peers::measure(c, "kern", c.variant.c_str(), [&] {
    trainer.step(x[k].view(), labels);
    k = (k + 1) % x.size();
  });
}

// The parameters and inputs of tests/golden/make_golden.py, which peers.py gives to the others.
std::vector<float> formula(std::uint64_t number, std::size_t n, double scale) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = float((2 * kern::detail::uniform_block(Seed{number}, i / 4)[i % 4] - 1) * scale);
  return v;
}
template <class M>
void fill(M& model) {
  std::uint64_t k = 0;
  for (const auto& s : graph::parameter_slots<typename M::Net>)
    model.set_parameter(s.name.text,
                        formula(100 + k++, std::size_t(s.parameter.size()),
                                std::exp2(-std::floor(std::log2(double(s.parameter.fan_in)) / 2))));
}

template <class Net, class In>
void losses(const peers::Cell& c) {
  Model<Net, In> model{Seed{}, Host{c.threads}};
  fill(model);
  const auto x = formula(1, std::size_t(c.batch * In::dims.size()), 1);
  const auto labels = some_labels(c.batch);
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = momentum<In>}};
  for (int i = 0; i < 10; ++i)
    std::printf("%.9g\n",
                double(trainer.step(TensorView<const float, typename In::Batch>(x.data(), c.batch), labels)));
}

template <class Net, class In>
void outputs(const peers::Cell& c) {
  Model<Net, In> model{Seed{}, Host{c.threads}};
  fill(model);
  const auto x = formula(1, std::size_t(c.batch * In::dims.size()), 1);
  const auto y = model.predict(TensorView<const float, typename In::Batch>(x.data(), c.batch));
  for (int i = 0; i < c.batch * 10; ++i) std::printf("%.9g\n", double(y.data()[i]));
}

void start() {
  Model<A, ImageA> model;
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = momentum<ImageA>}};
  const auto x = images<ImageA>(64, 1);
  trainer.step(x.view(), some_labels(64));
  const double first = since_start();
  for (int i = 0; i < 100; ++i) trainer.step(x.view(), some_labels(64));
  long kib = 0;  // the most memory that this program ever had
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, status);) std::sscanf(line, "VmHWM: %ld", &kib);
    std::fclose(status);
  }
  std::printf("%.6f\n%ld\n", first, kib);
}

void epochs(const std::string& folder, int threads) {
  const data::Compose transform{data::ToTensor{}, data::Normalize{0.1307f, 0.3081f}};
  data::DataLoader train{
      data::Mnist{folder, data::Split::train}, transform, {.batch_size = 64, .shuffle = true}};
  Model<A, ImageA> model{Seed{0}, Host{threads}};
  Trainer trainer{model, CrossEntropyLoss{}, Sgd{.lr = 0.01, .momentum = momentum<ImageA>}};
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n') continue;
    const double begin = since_start();
    for (const auto& batch : train) trainer.step(batch);
    std::printf("%.6f\n", since_start() - begin);
    std::fflush(stdout);
  }
}

// Trained is Net without dropout: masks are drawn, and no two libraries draw the same.
template <class Net, class Trained, class In>
void run(const peers::Cell& c) {
  if (c.op == "losses")
    losses<Trained, In>(c);
  else if (c.op == "outputs")
    outputs<Net, In>(c);
  else
    time_cell<Net, In>(c);
}

bool one_of(const std::string& s, std::initializer_list<const char*> known) {
  return std::any_of(known.begin(), known.end(), [&](const char* k) { return s == k; });
}

}  // namespace

int main(int argc, char** argv) try {
  const peers::Cell c = peers::parse(argc, argv);
  if (!one_of(c.net, {"A", "B"}) || !one_of(c.variant, {"static", "erased"}) ||
      !one_of(c.op, {"infer", "train", "losses", "outputs", "start", "epoch"}) || c.batch < 1 ||
      c.threads < 1) {
    std::fprintf(stderr, "kern_bench: no such cell: --net %s --variant %s --op %s --batch %d --threads %d\n",
                 c.net.c_str(), c.variant.c_str(), c.op.c_str(), c.batch, c.threads);
    return 2;
  }
  const bool a = c.net == "A";
  if (c.op == "start")
    start();
  else if (c.op == "epoch")
    epochs(c.data, c.threads);
  else if (c.variant == "static")
    a ? run<A, WithoutDropout, ImageA>(c) : run<B, B, ImageB>(c);
  else
    a ? run<erase_shapes<A>, erase_shapes<WithoutDropout>, ImageA>(c)
      : run<erase_shapes<B>, erase_shapes<B>, ImageB>(c);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
