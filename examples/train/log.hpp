// What a run leaves of its numbers: curves for TensorBoard.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

/// Compiled apart from the nets: what it includes would take nvcc longer than a net.
class Log {
 public:
  /// Makes the folder. Throws kern::DataError where that can't be done or written to.
  explicit Log(const std::string& folder);
  ~Log();

  /// A point of a curve.
  void add(const char* curve, double value, std::int64_t step);
  /// The file.
  std::string path() const;

 private:
  struct Curves;
  std::unique_ptr<Curves> curves_;
};
