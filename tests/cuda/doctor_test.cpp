// Versions, architectures and what runs where: NVIDIA's "CUDA Compatibility" (minor version compatibility,
// least drivers), "PTX ISA" (release history) and nvcc's manual (binary and PTX compatibility).
#include "kern/cuda/doctor.hpp"

#include <doctest/doctest.h>

#include "kern/cuda/facts.hpp"

using namespace kern;
using Kind = Verdict::Kind;

namespace {

const CudaImage ptx75{true, 75, 0, 90}, sass80{false, 80}, sass90{false, 90}, sass90a{false, 90, 'a'};

/// A machine and a program that get on: CUDA 13.0 all over, an H200.
CudaFacts well() {
  CudaFacts f;
  f.built = true;
  f.toolkit = f.runtime = f.driver_cuda = 13000;
  f.driver = "580.65.06";
  f.images = {sass90};
  f.devices = {{"NVIDIA H200", 90, std::size_t(141) << 30}};
  return f;
}
CudaFacts with(const std::vector<CudaImage>& images, int capability, int driver_cuda = 13000,
               int runtime = 13000) {
  CudaFacts f = well();
  f.images = images;
  f.devices[0].capability = capability;
  f.driver_cuda = driver_cuda;
  f.toolkit = f.runtime = runtime;
  return f;
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("all well") {
  const Verdict v = diagnose(well());
  CHECK(v.kind == Kind::all_well);
  CHECK(v.usable());
  CHECK(v.text == "CUDA works on device 0, NVIDIA H200 (compute capability 9.0), with this program's sm_90.");
  CHECK(v.remedy == "");
  CHECK(std::string(to_string(v.kind)) == "all_well");
}

TEST_CASE("built without CUDA: nothing else counts") {
  CudaFacts f = well();
  f.built = false;
  const Verdict v = diagnose(f);
  CHECK(v.kind == Kind::built_without_cuda);
  CHECK(!v.usable());
  CHECK(v.text == "This program was built without CUDA.");
  CHECK(has(v.remedy, "nvcc -std=c++20 -x cu"));
  CHECK(diagnose(cuda_facts()).kind == Kind::built_without_cuda);  // this very program
}

TEST_CASE("no driver") {
  CudaFacts f = well();
  f.driver_cuda = 0;
  f.devices.clear();
  f.error = "CUDA driver version is insufficient for CUDA runtime version (cudaErrorInsufficientDriver)";
  CHECK(diagnose(f).kind == Kind::no_driver);
  CHECK(has(diagnose(f).remedy, "Install an NVIDIA driver, version 580 or newer"));
  f.toolkit = f.runtime = 12040;
  CHECK(has(diagnose(f).remedy, "version 525 or newer"));
  f.toolkit = f.runtime = 14000;  // not in the table
  CHECK(has(diagnose(f).remedy, "driver for CUDA 14.0 or newer"));
}

TEST_CASE("a driver of an older major version than the toolkit; of the same, any minor version works") {
  const auto kind = [](int driver, int runtime) {
    return diagnose(with({sass90}, 90, driver, runtime)).kind;
  };
  CHECK(kind(12090, 13000) == Kind::driver_too_old);
  CHECK(kind(11080, 12000) == Kind::driver_too_old);
  CHECK(kind(12000, 12090) == Kind::all_well);
  CHECK(kind(13000, 13010) == Kind::all_well);
  CHECK(kind(13000, 12040) == Kind::all_well);  // a newer driver always
  CHECK(kind(14000, 12040) == Kind::all_well);

  const Verdict v = diagnose(with({sass90}, 90, 12040, 13000));
  CHECK(v.text == "The driver's CUDA 12.4 is too old for this program, which needs 13.0.");
  CHECK(v.remedy ==
        "Install an NVIDIA driver, version 580 or newer (Linux), or compile with a toolkit of CUDA 12.");
  CHECK(has(diagnose(with({sass90}, 90, 12040, 12080)).text,
            "The driver's CUDA 12.4 is older than the toolkit's 12.8: that works within a major version."));
  CHECK(!has(diagnose(with({sass90}, 90, 12080, 12080)).text, "older"));
}

TEST_CASE("the driver does not work") {
  CudaFacts f = well();
  f.devices.clear();
  f.error = "system not yet initialized (cudaErrorSystemNotReady)";
  const Verdict v = diagnose(f);
  CHECK(v.kind == Kind::driver_error);
  CHECK(has(v.text, "cudaErrorSystemNotReady"));
}

TEST_CASE("no device, and a number that there is not") {
  CudaFacts f = well();
  CHECK(diagnose(f, 1).kind == Kind::device_out_of_range);
  CHECK(diagnose(f, 1).text == "Device 1 was asked for; expected 0 to 0: there is 1.");
  CHECK(diagnose(f, -1).kind == Kind::device_out_of_range);
  f.devices.push_back({"Tesla T4", 75, std::size_t(15) << 30});
  CHECK(diagnose(f, 1).kind == Kind::device_too_old);  // each is judged by itself
  CHECK(diagnose(f, 7).text == "Device 7 was asked for; expected 0 to 1: there are 2.");
  f.devices.clear();
  CHECK(diagnose(f).kind == Kind::no_device);
  CHECK(diagnose(f, 7).kind == Kind::no_device);
}

TEST_CASE("machine code runs on its own major version, from its own minor version on") {
  const auto kind = [](int arch, int capability) { return diagnose(with({{false, arch}}, capability)).kind; };
  CHECK(kind(80, 80) == Kind::all_well);
  CHECK(kind(80, 86) == Kind::all_well);
  CHECK(kind(86, 80) == Kind::device_too_old);
  CHECK(kind(80, 90) == Kind::no_image);
  CHECK(kind(90, 80) == Kind::device_too_old);
  CHECK(kind(100, 103) == Kind::all_well);
  CHECK(kind(100, 120) == Kind::no_image);
  CHECK(kind(120, 121) == Kind::all_well);
}

TEST_CASE("sm_90a is for compute capability 9.0 alone, sm_100f for its family") {
  CHECK(diagnose(with({sass90a}, 90)).kind == Kind::all_well);
  CHECK(diagnose(with({{false, 100, 'a'}}, 103)).kind == Kind::no_image);
  CHECK(diagnose(with({{false, 100, 'f'}}, 103)).kind == Kind::all_well);
  CHECK(diagnose(with({{true, 90, 'a', 90}}, 100)).kind == Kind::no_image);
  CHECK(diagnose(with({{true, 90, 'a', 90}}, 90)).kind == Kind::ptx_only);
  CHECK(diagnose(with({{true, 100, 'f', 90}}, 103)).kind == Kind::ptx_only);
  CHECK(diagnose(with({{true, 100, 'f', 90}}, 120)).kind == Kind::no_image);
}

TEST_CASE("a device that PTX alone serves") {
  const Verdict v = diagnose(with({sass80, ptx75}, 120));
  CHECK(v.kind == Kind::ptx_only);
  CHECK(v.usable());
  CHECK(has(v.text, "PTX, compute_75"));
  CHECK(v.remedy ==
        "To start faster, compile it for this GPU: nvcc -arch=sm_120 (CMake: CMAKE_CUDA_ARCHITECTURES=120).");
  CHECK(diagnose(with({sass80, ptx75}, 86)).kind == Kind::all_well);  // machine code first
}

TEST_CASE("a device older than all architectures, and one that has nothing for it") {
  const Verdict old = diagnose(with({sass80, sass90, {true, 90, 0, 90}}, 75));
  CHECK(old.kind == Kind::device_too_old);
  CHECK(has(old.text,
            "Device 0, NVIDIA H200 (compute capability 7.5) is older than all that this program was compiled "
            "for: sm_80 sm_90 compute_90."));
  CHECK(old.remedy == "Compile it for this GPU: nvcc -arch=sm_75 (CMake: CMAKE_CUDA_ARCHITECTURES=75).");
  // CUDA 13 has dropped what is older than Turing, CUDA 12 what is older than Maxwell.
  CHECK(has(diagnose(with({sass80}, 70)).remedy, "an older toolkit (CUDA 13.0 has left sm_70 behind)"));
  CHECK(!has(diagnose(with({sass80}, 70, 12080, 12080)).remedy, "older toolkit"));

  const Verdict none = diagnose(with({sass80}, 120, 12080, 12040));
  CHECK(none.kind == Kind::no_image);
  CHECK(has(none.remedy,
            "-arch=sm_120 (CMake: CMAKE_CUDA_ARCHITECTURES=120), with a toolkit newer than CUDA 12.4"));
}

TEST_CASE("PTX newer than the driver can compile") {
  const auto kind = [](int isa, int driver) {
    return diagnose(with({{true, 75, 0, isa}}, 90, driver, driver / 1000 * 1000)).kind;
  };
  // The release history: 7.8 came with CUDA 11.8, 8.5 with 12.5 (and 12.6), 8.6 with 12.7, 8.8 with 12.9, 9.0
  // with 13.0, 9.1 with 13.1.
  const int isa[] = {78, 80, 84, 85, 86, 87, 88, 90, 91};
  const int cuda[] = {11080, 12000, 12040, 12050, 12070, 12080, 12090, 13000, 13010};
  for (int i = 0; i < 9; ++i) {
    CAPTURE(isa[i]);
    CHECK(kind(isa[i], cuda[i]) == Kind::ptx_only);
    CHECK(detail::cuda_of_isa(isa[i]) == cuda[i]);
    if (i > 0) CHECK(kind(isa[i], cuda[i - 1]) == Kind::ptx_too_new);
  }
  CHECK(kind(85, 12060) == Kind::ptx_only);
  CHECK(kind(86, 12060) == Kind::ptx_too_new);

  const Verdict v = diagnose(with({{true, 75, 0, 87}, sass80}, 90, 12040, 12080));
  CHECK(!v.usable());
  CHECK(
      v.text ==
      "This program has only PTX for device 0, NVIDIA H200 (compute capability 9.0), of version 8.7, and the "
      "driver (CUDA 12.4) compiles none newer than 8.4.");
  CHECK(v.remedy ==
        "Install a driver for CUDA 12.8 or newer, or compile it for this GPU: nvcc -arch=sm_90 (CMake: "
        "CMAKE_CUDA_ARCHITECTURES=90).");
  // Its own machine code needs no compiling.
  CHECK(diagnose(with({{true, 75, 0, 87}, sass90}, 90, 12040, 12080)).kind == Kind::all_well);
}

TEST_CASE("an unknown program is not doubted") { CHECK(diagnose(with({}, 90)).kind == Kind::all_well); }

TEST_CASE("the report has every fact, the two versions explained, and the verdict") {
  CudaFacts f = with({sass80, sass90, ptx75}, 90, 12040, 12080);
  CHECK(report(f) ==
        "driver:        580.65.06, supports CUDA 12.4\n"
        "toolkit:       CUDA 12.8, compiled this program\n"
        "compiled for:  SASS sm_80 sm_90; PTX compute_75\n"
        "device 0:      NVIDIA H200, compute capability 9.0, 141.0 GiB\n"
        "\n" +
            std::string(cuda_versions_explained) +
            "\n\n"
            "verdict:       CUDA works on device 0, NVIDIA H200 (compute capability 9.0), with this "
            "program's sm_90. "
            "The driver's CUDA 12.4 is older than the toolkit's 12.8: that works within a major version.\n");
  CHECK(report(CudaFacts{}) ==
        "verdict:       This program was built without CUDA.\n"
        "what to do:    Compile it with nvcc: nvcc -std=c++20 -x cu (CMake: link kern::cuda).\n");
  f.driver.clear();
  f.runtime = 12000;
  f.devices.clear();
  CHECK(has(report(f), "driver:        version unknown, supports CUDA 12.4\n"));
  CHECK(has(report(f), "compiled this program; its runtime library is 12.0\n"));
  CHECK(has(report(f), "devices:       none\n"));
}

TEST_CASE("the driver's version, as the kernel shows it") {
  CHECK(gpu::driver_version_in(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC "
            "2023\nGCC version:  gcc version 12.2.0\n") == "535.54.03");
  CHECK(gpu::driver_version_in(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build") ==
        "580.65.06");
  CHECK(gpu::driver_version_in("") == "");
  CHECK(gpu::driver_version_in("nothing of the sort") == "");
}
