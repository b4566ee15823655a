// The main of CUDA's tests: without a GPU they are skipped, with the doctor's words.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "../support/skip.hpp"
#include "device.hpp"

int main(int argc, char** argv) {
  const std::string missing = kern::test::missing_device();
  if (!missing.empty() && !std::getenv("KERN_TEST_CUDA_REQUIRED"))
    kern::test::skip((missing + " KERN_CUDA_RUNTIME names no other runtime.").c_str());
  if (!missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 1;
  }
  return doctest::Context(argc, argv).run();
}
