#include <cstdio>
#include <kern/cuda/cuda.hpp>

using namespace kern;

int main() {
  const Verdict verdict = diagnose(cuda_facts());
  if (!verdict.usable()) {
    std::printf("%s %s\n", verdict.text.c_str(), verdict.remedy.c_str());
    return 1;
  }

  const Cuda device{0};
  const auto t =
      randn<float, Shape<2, 2>>(Seed{0}, device);  // made there: the numbers that the host would make
  std::puts(to_string(t).c_str());

  auto rows = Tensor<float, Shape<dyn, 2>>{1, 2, 3, 4}.to(device);  // from the host
  const auto full =
      Tensor<float, Shape<2>, Cuda>::full(7.5f, device);  // the device stands before dyn extents
  rows[1].copy_from(full);                                // on the device
  std::puts(to_string(rows).c_str());

  const Tensor<float, Shape<dyn, 2>> back = rows.to(Host{});  // and back: now its elements can be reached
  std::printf("%g %g\n", double(back(1, 0)), double(rows[0][1].item()));

  try {
    const Tensor<float, Shape<dyn, 1000, 1000>, Cuda> large(device, 1000000);
  } catch (const CudaError& e) {
    std::puts(e.what());
  }
}
