#include "device.hpp"

#include "kern/cuda/facts.hpp"

std::string kern::test::missing_device() {
  const Verdict verdict = diagnose(cuda_facts());
  return verdict.usable() ? "" : verdict.text;
}
