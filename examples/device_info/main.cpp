// What this machine's GPUs and this program have to say to each other:
//   nvcc -std=c++20 -I include -x cu examples/device_info/main.cpp -o device_info && ./device_info
//   g++ -std=c++20 -I include examples/device_info/main.cpp -o device_info && ./device_info
// device_info [DEVICE] judges that device; 0 if none is named. Its exit status: 0, all is well; 2, CUDA
// works, but the remedy is worth a look; 1, it does not work; 3, DEVICE is no number.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <kern/cuda/doctor.hpp>
#include <kern/cuda/facts.hpp>

int main(int argc, char** argv) {
  int device = 0;
  if (argc > 1) {
    const char* end = argv[1] + std::strlen(argv[1]);
    const auto parsed = std::from_chars(argv[1], end, device);
    if (parsed.ec != std::errc() || parsed.ptr != end || argc > 2) {
      std::fprintf(stderr, "usage: device_info [DEVICE], a number\n");
      return 3;
    }
  }
  const kern::CudaFacts facts = kern::cuda_facts();
  std::fputs(kern::report(facts, device).c_str(), stdout);
  const kern::Verdict verdict = kern::diagnose(facts, device);
  if (verdict.kind == kern::Verdict::Kind::all_well) return 0;
  return verdict.usable() ? 2 : 1;
}
