// The C++ side of the peers protocol: an executable that peers.py can run beside the others.
// argv: --net A|B --op infer|train --variant V --batch N --threads T --rounds R --round-ms MS
// It prints JSON lines (net, op, batch, threads, lib, variant, median, p10, p90, unit, samples);
// a cell that it cannot do prints nothing and exits 0.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
namespace peers {
struct Cell {
  std::string net = "A", op = "infer", variant = "static", data;
  int batch = 64, threads = 1, rounds = 15;
  double round_ms = 60;
};
inline Cell parse(int argc, char** argv) {
  Cell c;
  for (int i = 1; i < argc; i += 2) {
    std::string k = argv[i];
    const char* v = i + 1 < argc ? argv[i + 1] : "";
    if (k == "--net")
      c.net = v;
    else if (k == "--op")
      c.op = v;
    else if (k == "--variant")
      c.variant = v;
    else if (k == "--data")
      c.data = v;
    else if (k == "--batch")
      c.batch = std::atoi(v);
    else if (k == "--threads")
      c.threads = std::atoi(v);
    else if (k == "--rounds")
      c.rounds = std::atoi(v);
    else if (k == "--round-ms")
      c.round_ms = std::atof(v);
    else
      std::fprintf(stderr, "unknown option %s\n", k.c_str()), std::exit(2);
  }
  return c;
}
inline double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  double at = q * double(v.size() - 1);
  std::size_t i = std::size_t(at);
  return i + 1 < v.size() ? v[i] + (at - double(i)) * (v[i + 1] - v[i]) : v[i];
}
template <class F>
void measure(const Cell& c, const char* lib, const char* variant, F&& fn) {
  using clk = std::chrono::steady_clock;
  auto secs = [](auto d) { return std::chrono::duration<double>(d).count(); };
  auto w = clk::now();
  for (int i = 0; i < 3 || secs(clk::now() - w) < 0.3; i++) fn();
  long n = 1;
  for (;;) {
    auto t = clk::now();
    for (long i = 0; i < n; i++) fn();
    double s = secs(clk::now() - t);
    if (s * 1e3 >= c.round_ms) break;
    n = std::max(n + 1, long(double(n) * std::min(10.0, 1.15 * c.round_ms / (s * 1e3))));
  }
  std::vector<double> v;
  bool infer = c.op == "infer";
  for (int r = 0; r < c.rounds; r++) {
    auto t = clk::now();
    for (long i = 0; i < n; i++) fn();
    v.push_back(secs(clk::now() - t) / double(n) * (infer ? 1e6 / c.batch : 1e3));
  }
  std::printf(
      "{\"net\": \"%s\", \"op\": \"%s\", \"batch\": %d, \"threads\": %d, \"lib\": \"%s\", \"variant\": "
      "\"%s\", "
      "\"median\": %.6g, \"p10\": %.6g, \"p90\": %.6g, \"unit\": \"%s\", \"samples\": [",
      c.net.c_str(), c.op.c_str(), c.batch, c.threads, lib, variant, quantile(v, .5), quantile(v, .1),
      quantile(v, .9), infer ? "us/sample" : "ms/step");
  for (std::size_t i = 0; i < v.size(); i++) std::printf("%s%.6g", i ? ", " : "", v[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}
}  // namespace peers
