// What the library throws. Every message names the thing that is wrong and both values.
#pragma once
#include <stdexcept>
#include <string>

#include "text.hpp"

namespace kern {

/// Base of all errors that this library throws.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sizes that do not fit together at run time: "what: expected X, got Y".
struct ShapeError : Error {
  using Error::Error;
};

/// A file or a data set that is not what it should be; names the file and the record or byte.
struct DataError : Error {
  using Error::Error;
};

/// An argument out of its range (batch size 0, an unknown parameter name, an index).
struct ArgumentError : Error {
  using Error::Error;
};

/// A number that should be finite is not: training diverged.
struct NumericError : Error {
  using Error::Error;
};

}  // namespace kern
