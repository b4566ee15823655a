// Machine probe: all T threads, each bound to its own CPU, run independent chains of fused multiply-adds at
// once; prints one JSON line.
//   usage: fma [threads=1] [ms=60] [cpu...]: thread t is bound to the t-th cpu, by default CPU t; one thread
//   alone is not bound
//   build: g++ -O3 -march=native -mprefer-vector-width=512 -pthread fma.cpp -o fma
//  gflops     sum over threads of the thread's median 2 ms chunk: the peak that the clock allows now
//  delivered  all the work over the wall time: lower when a CPU was away (host steals it, other processes)
//  stall_pct  T>=2 only: share of a 30 ms two-thread ping-pong spent in round trips over 50 us, which is what
//             a spinning barrier between two threads meets here (0.1-0.3 us is the undisturbed trip)
#include <pthread.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#ifdef __AVX512F__
constexpr int W = 16;
#else
constexpr int W = 8;
#endif
typedef float vec __attribute__((vector_size(W * 4)));
static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static void bind(std::size_t cpu) {
  cpu_set_t s;
  CPU_ZERO(&s);
  CPU_SET(cpu, &s);
  pthread_setaffinity_np(pthread_self(), sizeof s, &s);
}
static double gflops(long steps, double seconds) { return double(steps) * 12.0 * W * 2 / seconds / 1e9; }
static double chunk(long n, float& sink) {
  vec a[12];
  for (int i = 0; i < 12; i++) a[i] = vec{} + float(i);
  vec x = vec{} + 0.999f, y = vec{} + 0.01f;
  double t = now();
  for (long k = 0; k < n; k++) {
    for (int i = 0; i < 12; i++) a[i] = a[i] * x + y;
    asm volatile("" ::"v"(a[0]), "v"(a[1]));
  }
  t = now() - t;
  for (int i = 0; i < 12; i++) sink += a[i][0];
  return gflops(n, t);
}
int main(int argc, char** argv) {
  const std::size_t T = std::size_t(std::max(1, argc > 1 ? std::atoi(argv[1]) : 1));
  const double secs = (argc > 2 ? std::atof(argv[2]) : 60) / 1e3;
  std::vector<std::size_t> cpu(T);
  for (std::size_t t = 0; t < T; t++) cpu[t] = argc > int(t) + 3 ? std::size_t(std::atoi(argv[t + 3])) : t;
  std::vector<double> rate(T), mean(T);
  std::vector<float> sink(T);
  std::atomic<std::size_t> ready{0};
  std::atomic<long> ping{0}, pong{0};
  std::atomic<bool> stop{false};
  double stalled = 0;
  std::vector<std::thread> th;
  for (std::size_t t = 0; t < T; t++)
    th.emplace_back([&, t] {
      if (T > 1) bind(cpu[t]);
      ready++;
      while (ready < T) std::this_thread::yield();
      std::vector<double> r;
      chunk(100000, sink[t]);  // wake the wide units
      const double t0 = now();
      do r.push_back(chunk(600000, sink[t]));  // ~2 ms each
      while (now() - t0 < secs);
      mean[t] = gflops(long(r.size()) * 600000, now() - t0);
      std::nth_element(r.begin(), r.begin() + std::ptrdiff_t(r.size() / 2), r.end());
      rate[t] = r[r.size() / 2];
      if (T < 2 || t > 1) return;
      if (t == 1) {
        for (long k = 0; !stop;)
          if (ping.load(std::memory_order_acquire) > k) pong.store(++k, std::memory_order_release);
        return;
      }
      while (pong.load() != ping.load()) {
      }
      ping.store(1);
      while (pong.load() < 1) {
      }  // both are here
      double start = now(), bad = 0, end = start;
      for (long k = 2; end - start < 0.03; k++) {
        double s = end;
        ping.store(k, std::memory_order_release);
        while (pong.load(std::memory_order_acquire) < k) {
        }
        end = now();
        if (end - s > 50e-6) bad += end - s;
      }
      stalled = 100 * bad / (end - start);
      stop = true;
    });
  for (auto& t : th) t.join();
  double peak = 0, got = 0;
  float s = 0;
  for (std::size_t t = 0; t < T; t++) peak += rate[t], got += mean[t], s += sink[t];
  std::printf("{\"gflops\": %.1f, \"delivered\": %.1f, \"stall_pct\": %.1f, \"threads\": %d, \"sink\": %g}\n",
              peak, got, stalled, int(T), double(s));
}
