// The doctor's word against the runtime's: a kernel is started whatever the verdict. Prints both; exit status
// 0 if they agree on whether that works.
#include <cstdio>

#include "kern/cuda/cuda.hpp"

using namespace kern;

int main() {
  const Verdict verdict = diagnose(cuda_facts());
  std::printf("%s\n", to_string(verdict.kind));
  bool works = true;
  try {
    const auto t = Tensor<int, Shape<3>, Cuda>::full(7);
    works = t[2].item() == 7;
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
    works = false;
  }
  return works == verdict.usable() ? 0 : 1;
}
