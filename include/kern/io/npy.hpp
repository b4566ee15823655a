// NumPy's files of one array: a magic text, a version, the length of a header, the header (a Python dict with
// dtype, order and shape), the elements. Source: https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../core/error.hpp"
#include "../data/file.hpp"
#include "npy_header.hpp"
#include "tensor_of.hpp"
#include "write_file.hpp"

namespace kern::io {

namespace detail {

/// f(i, at): where the i-th element of a row-major array lies in one of the same shape in Fortran's order.
template <class F>
void each_from_fortran(std::span<const std::int64_t> shape, std::size_t count, F f) {
  std::vector<std::int64_t> index(shape.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    f(i, at);
    std::size_t stride = count;
    for (std::size_t d = shape.size(); d-- > 0;) {  // the last dimension counts up first
      stride /= std::size_t(shape[d]);
      at += stride;
      if (++index[d] < shape[d]) break;
      at -= stride * std::size_t(shape[d]);
      index[d] = 0;
    }
  }
}

/// The array in a file's bytes.
template <class T, class S>
Tensor<T, S> parse_npy(const std::string& path, std::span<const std::uint8_t> bytes) {
  const NpyHeader header = parse_npy_header(path, bytes);
  if (header.dtype.substr(1) != npy_dtype<T>().substr(1))
    throw DataError(
        text(path, ": expected dtype ", npy_name(npy_dtype<T>()), ", got ", npy_name(header.dtype)));
  const std::size_t have = bytes.size() - header.end;
  std::uint64_t expected = 0;
  const bool counted = count_bytes(header.shape, 8 * sizeof(T), expected);
  if (!counted || have != expected)
    throw DataError(text(path, ": is ", !counted || have < expected ? "cut off" : "too long", ": expected ",
                         counted ? text(expected) : "2^61 or more", " bytes behind its header for shape ",
                         shape_string(header.shape), " of ", npy_name(header.dtype), ", got ", have));
  Tensor<T, S> out = tensor_of<T, S>(header.shape, text(path, ": "));
  const std::uint8_t* const from = bytes.data() + header.end;
  const std::endian order = header.dtype[0] == '>' ? std::endian::big : std::endian::little;
  const auto element = [&](std::size_t i) {
    if constexpr (std::is_same_v<T, bool>)
      return from[i] != 0;  // any other bits in a bool are undefined
    else
      return number_at<T>(from + i * sizeof(T), order);
  };
  if (header.fortran_order)
    each_from_fortran(header.shape, out.size(),
                      [&](std::size_t i, std::size_t stored) { out.data()[i] = element(stored); });
  else
    for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] = element(i);
  return out;
}

}  // namespace detail

/// Saves a tensor or a view as numpy.save does, to the byte: row-major, in this machine's byte order. The
/// file is replaced as a whole or not at all (write_file). Throws DataError if it can't be written.
template <class T, class S>
void save_npy(const TensorView<T, S>& v, const std::string& path) {
  const std::string header = detail::npy_header(detail::npy_dtype<std::remove_const_t<T>>(), v.shape());
  const detail::Piece pieces[] = {{reinterpret_cast<const std::uint8_t*>(header.data()), header.size()},
                                  {reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)}};
  write_file(path, pieces);
}
template <class T, class S>
void save_npy(const Tensor<T, S>& t, const std::string& path) {
  save_npy(t.view(), path);
}

/// Loads what numpy.save wrote as a TensorType, Tensor<float, Shape<dyn, 3>>: versions 1 to 3 of the format,
/// either byte order, C's and Fortran's order. Throws DataError for what is no such file, is cut off or too
/// long, and for another dtype (nothing is converted); ShapeError for a shape that TensorType can't have.
/// Both name the file and both values.
template <class TensorType>
TensorType load_npy(const std::string& path) {
  return detail::parse_npy<typename TensorType::Element, typename TensorType::Extents>(
      path, data::detail::read_bytes(path));
}

}  // namespace kern::io
