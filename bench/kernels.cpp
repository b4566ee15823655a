// The host's kernels, one at a time on one thread, for sizes known to the compiler and not. The counter
// `of_probe` sets the multiply-adds done (a direct convolution's, whatever the kernel does) against those of
// independent chains in registers, timed right before and after: the machine's speed moves, the ratio less.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <kern/host/backend.hpp>
#include <kern/ops/chain.hpp>
#include <kern/ops/relu.hpp>
#include <string>
#include <vector>

namespace {

using namespace kern;
using Backend = host::Backend<float>;

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Multiply-adds a second, timed once.
[[gnu::noinline]] double probe_once() {
  constexpr int chains = 12, n = 100000;
  simd::vec<float> sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = simd::splat(float(i));
  const simd::vec<float> factor = simd::splat(0.999f), term = simd::splat(0.01f);
  const double start = thread_seconds();
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < chains; ++i) sum[i] = sum[i] * factor + term;
    // Keeps the compiler from running one chain after the other.
#if defined(__aarch64__)
    asm volatile("" ::"w"(sum[0]), "w"(sum[1]));
#else
    asm volatile("" ::"v"(sum[0]), "v"(sum[1]));
#endif
  }
  const double seconds = thread_seconds() - start;
  float total = 0;
  for (int i = 0; i < chains; ++i) total += sum[i][0];
  benchmark::DoNotOptimize(total);
  return double(n) * chains * simd::lanes<float> / seconds;
}
double probe() {
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) rates.push_back(probe_once());
  std::sort(rates.begin(), rates.end());
  return rates[2];
}

/// Runs f and reports `macs` multiply-adds a call.
template <class F>
void measure(benchmark::State& state, double macs, F&& f) {
  f();
  const double before = probe(), start = thread_seconds();
  for (auto _ : state) f();
  const double seconds = (thread_seconds() - start) / double(state.iterations());
  state.counters["of_probe"] = macs / seconds / std::max(before, probe());
  state.counters["GMAC/s"] = macs / seconds / 1e9;
}

host::Buffer<float> random_buffer(std::size_t n, std::uint32_t sub) {
  host::Buffer<float> b(n);
  for (std::size_t i = 0; i < n; ++i)
    b[i] = rng::uniform(rng::draw(Seed{1}, rng::Stream::tensor, sub, 0, std::uint32_t(i))[0]) - 0.5f;
  return b;
}

constexpr int samples = 4;

/// All that a contraction of `samples` samples works on, after a forward pass.
template <auto V, class Chain>
struct Convolution {
  stage::Contraction c;
  Backend backend{1};
  host::Buffer<float> x = random_buffer(std::size_t(samples * c.in_size()), 1);
  host::Buffer<float> w = random_buffer(std::size_t(c.weight_size()), 2);
  host::Buffer<float> bias = random_buffer(std::size_t(c.cols), 3);
  host::Buffer<float> y{std::size_t(samples * c.out_size())}, dx{std::size_t(samples * c.in_size())};
  host::Buffer<float> dy = random_buffer(std::size_t(samples * c.out_size()), 4);
  host::Buffer<float> forward_weights{Backend::forward_size(c)}, backward_weights{Backend::backward_size(c)};
  host::Buffer<float> partial{Backend::partial_size(c)};
  host::Buffer<stage::WindowIndex> argmax{std::size_t(samples * c.out_size())};
  const stage::Slice slice{0, samples, 0};
  const stage::Known<V> d{c};

  explicit Convolution(const stage::Contraction& numbers) : c(numbers) {
    backend.reserve(Backend::scratch_size(c, samples));
    backend.prepare_forward(d, w.data(), forward_weights.data());
    backend.prepare_backward(d, w.data(), backward_weights.data());
    forward();
  }
  stage::Weights<float> weights() const {
    return {w.data(), bias.data(), forward_weights.data(), backward_weights.data()};
  }
  void forward() {
    backend.forward(slice, d, stage::ForwardPass<float>{x.data(), weights(), y.data(), argmax.data()},
                    Chain{}, ops::Draw{});
  }
  template <bool DataGradient>
  void backward() {
    backend.template backward<DataGradient>(
        slice, d,
        stage::BackwardPass<float>{x.data(), weights(), y.data(), argmax.data(), dy.data(),
                                   DataGradient ? dx.data() : nullptr, partial.data(), nullptr},
        Chain{}, stage::NoBelow{}, ops::Draw{});
  }
  double macs() const {
    return double(samples) * c.out_h() * c.pool_h * c.out_w() * c.pool_w * c.kh * c.kw * c.ci * c.co;
  }
};

template <auto V, bool DataGradient, class Chain>
void add_convolution(const std::string& name, stage::Contraction c) {
  benchmark::RegisterBenchmark((name + "/forward").c_str(), [c](benchmark::State& state) {
    Convolution<V, Chain> k(c);
    measure(state, k.macs(), [&] { k.forward(); });
  });
  benchmark::RegisterBenchmark((name + "/backward").c_str(), [c](benchmark::State& state) {
    Convolution<V, Chain> k(c);
    measure(state, k.macs() * (DataGradient ? 2 : 1), [&] { k.template backward<DataGradient>(); });
  });
}
/// Sizes known, and (as in an erased net) known but for the pool.
template <stage::Contraction C, bool DataGradient, class Chain = ops::Chain<>>
void add(const std::string& name) {
  constexpr stage::Contraction pool_only = [] {
    stage::Contraction c = stage::all_dyn<stage::Contraction>();
    c.pool_h = C.pool_h, c.pool_w = C.pool_w;
    return c;
  }();
  add_convolution<C, DataGradient, Chain>(name + "/static", C);
  add_convolution<pool_only, DataGradient, Chain>(name + "/dynamic", C);
}

void add_dense(const std::string& name, int k, int co) {
  for (const int n : {1, 8, 64}) {
    const stage::Dense c{k, co, math::round_up(co, simd::lanes<float>)};
    const auto run = [=](benchmark::State& state, bool backward) {
      Backend backend(1);
      backend.reserve(Backend::scratch_size(c, n));
      const stage::Known<stage::all_dyn<stage::Dense>()> d(c);
      const auto x = random_buffer(std::size_t(n * c.k), 1),
                 w = random_buffer(std::size_t(c.weight_size()), 2),
                 bias = random_buffer(std::size_t(c.cols), 3);
      auto dy = random_buffer(std::size_t(n * c.cols), 4);
      host::Buffer<float> y(dy.size()), dx(x.size()), dw(w.size()), db(bias.size());
      const stage::Weights<float> weights{w.data(), bias.data(), nullptr, nullptr};
      const stage::Slice whole{0, n, stage::Slice::whole};
      const ops::Chain<ops::Relu> chain;
      const double macs = double(n) * c.k * c.co;
      const auto forward = [&] {
        backend.forward(whole, d, stage::ForwardPass<float>{x.data(), weights, y.data(), nullptr}, chain,
                        ops::Draw{});
      };
      forward();
      if (!backward) return measure(state, macs, forward);
      measure(state, 2 * macs, [&] {
        backend.backward<true>(whole, d,
                               stage::BackwardPass<float>{x.data(), weights, y.data(), nullptr, dy.data(),
                                                          dx.data(), dw.data(), db.data()},
                               chain, stage::NoBelow{}, ops::Draw{});
      });
    };
    const std::string full = name + "/batch " + std::to_string(n);
    benchmark::RegisterBenchmark((full + "/forward").c_str(), [=](benchmark::State& s) { run(s, false); });
    benchmark::RegisterBenchmark((full + "/backward").c_str(), [=](benchmark::State& s) { run(s, true); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  using Relu = ops::Chain<ops::Relu>;
  //               h   w   ci kh kw co cols stride pool border
  add<stage::Contraction{28, 28, 1, 3, 3, 16, 16, 1, 1, 1, 1, 0, 0}, false, Relu>("LeNet conv1 1->16 3x3");
  add<stage::Contraction{26, 26, 16, 3, 3, 32, 32, 1, 1, 2, 2, 0, 0}, true, Relu>(
      "LeNet conv2 16->32 3x3 pool 2");
  add<stage::Contraction{36, 36, 3, 5, 5, 32, 32, 1, 1, 2, 2, 2, 2}, false>("CIFAR conv1 3->32 5x5 pool 2");
  add<stage::Contraction{20, 20, 32, 5, 5, 32, 32, 1, 1, 2, 2, 2, 2}, true>("CIFAR conv2 32->32 5x5 pool 2");
  add<stage::Contraction{12, 12, 32, 5, 5, 64, 64, 1, 1, 2, 2, 0, 0}, true>("CIFAR conv3 32->64 5x5 pool 2");
  add<stage::Contraction{18, 18, 32, 3, 3, 32, 32, 1, 1, 1, 1, 1, 1}, true, Relu>("VGG 32->32 3x3");
  add_dense("LeNet fc1 4608->128", 4608, 128);
  add_dense("CIFAR fc1 1024->64", 1024, 64);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
