#include "kern/cuda/facts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace kern;

TEST_CASE("what the compiler says, and what the program's file says, are the same architectures") {
  const CudaFacts f = cuda_facts();
  CHECK(f.built);
  CHECK(f.toolkit == __CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10);
  CHECK(f.runtime > 0);
  CHECK(f.driver_cuda / 1000 >= f.runtime / 1000);
  std::vector<int> found, listed;
  for (const CudaImage& i : f.images) {
    if (i.ptx) CHECK(i.isa == detail::newest_isa(f.toolkit));
    if (std::find(found.begin(), found.end(), i.architecture * 10) == found.end())
      found.push_back(i.architecture * 10);
  }
  for (const int a : {__CUDA_ARCH_LIST__}) listed.push_back(a);
  std::sort(found.begin(), found.end());
  CHECK(found == listed);
}

TEST_CASE("each device, as CUDA describes it") {
  const CudaFacts f = cuda_facts();
  REQUIRE(!f.devices.empty());
  CHECK(f.error.empty());
  for (std::size_t i = 0; i < f.devices.size(); ++i) {
    int major = 0, minor = 0;
    REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, int(i)) == cudaSuccess);
    REQUIRE(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, int(i)) == cudaSuccess);
    CHECK(f.devices[i].capability == major * 10 + minor);
    CHECK(f.devices[i].memory > std::size_t(1) << 30);
    CHECK(!f.devices[i].name.empty());
    CHECK(diagnose(f, int(i)).usable());
  }
  CHECK(diagnose(f, int(f.devices.size())).kind == Verdict::Kind::device_out_of_range);
}
