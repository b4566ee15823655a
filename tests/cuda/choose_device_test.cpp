#include "kern/cuda/choose_device.hpp"

#include <doctest/doctest.h>

using namespace kern;

namespace {

/// One GPU and a program that runs on it; without a driver, no GPU.
CudaFacts machine(int driver_cuda = 13000) {
  CudaFacts f;
  f.built = true;
  f.toolkit = f.runtime = 13000;
  f.driver_cuda = driver_cuda;
  f.images = {{false, 90}};
  if (driver_cuda != 0) f.devices = {{"NVIDIA H200", 90, std::size_t{141} << 30}};
  return f;
}
std::string refusal(std::string_view name, const CudaFacts& facts) {
  try {
    choose_device(name, facts);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "no error";
}
bool is_cpu(const DeviceChoice& c) { return !c.cuda; }

}  // namespace

TEST_CASE("a device that is named is that one") {
  CHECK(is_cpu(choose_device("cpu", machine())));
  CHECK(choose_device("cpu", machine()).text == "cpu");
  const DeviceChoice gpu = choose_device("cuda", machine());
  CHECK((gpu.cuda && gpu.device == 0));
  CHECK(gpu.text == "cuda:0");
  CudaFacts two = machine();
  two.devices.push_back(two.devices[0]);
  CHECK(choose_device("cuda:1", two).device == 1);
}

TEST_CASE("auto takes the GPU where it works, and says why") {
  CHECK(choose_device("auto", machine()).cuda);
  CHECK(choose_device("auto", machine()).text.starts_with("cuda:0 (auto: CUDA works on device 0"));
  CHECK(is_cpu(choose_device("auto", machine(0))));
  CHECK(choose_device("auto", machine(0)).text == "cpu (auto: There is no NVIDIA driver here.)");
  CHECK(choose_device("auto", CudaFacts{}).text == "cpu (auto: This program was built without CUDA.)");
}

TEST_CASE("a GPU that can't be had is an error with the remedy, never the CPU") {
  CHECK(refusal("cuda", machine(0))
            .starts_with("cuda: There is no NVIDIA driver here. Install an NVIDIA driver"));
  CHECK(refusal("cuda:1", machine()).starts_with("cuda:1: Device 1 was asked for; expected 0 to 0"));
  CHECK(refusal("cuda", CudaFacts{}).starts_with("cuda: This program was built without CUDA."));
  // Chosen elsewhere, by a part of the program that nvcc compiled.
  CHECK_THROWS_WITH_AS(on_device(choose_device("cuda", machine()), [](auto) {}),
                       "cuda:0: this program was built without CUDA", ArgumentError);
}

TEST_CASE("other names are refused") {
  for (const char* name :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "cpu:0", "CUDA"})
    CHECK(refusal(name, machine()) ==
          "device: expected auto, cpu, cuda or cuda:N, got \"" + std::string(name) + "\"");
}
