// Whether there is a GPU to test with.
#pragma once
#include <string>

namespace kern::test {

/// Why device 0 can't be used; empty if it can.
std::string missing_device();

}  // namespace kern::test
