// For tests that compare with a Python package: KERN_PYTHON names the interpreter that has it, python3 if it
// is not set.
#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "files.hpp"
#include "skip.hpp"

namespace kern::testing {

/// Runs a script of tests/ on a folder. Where it ends with status 77, it has said what is missing: the test
/// is skipped.
inline void run_python(const std::string& script, const Folder& folder) {
  const char* python = std::getenv("KERN_PYTHON");
  const std::string command = std::string("'") + (python && *python ? python : "python3") + "' '" +
                              KERN_TEST_DATA "/../" + script + "' '" + folder.path() + "'";
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
    std::filesystem::remove_all(folder.path());  // the program ends here
    test::skip(("KERN_PYTHON names no Python with what " + script + " needs").c_str());
  }
  REQUIRE(status == 0);
}

}  // namespace kern::testing
