// The header of NumPy's files: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, read and written.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../core/error.hpp"
#include "../core/shape.hpp"
#include "../data/file.hpp"
#include "numbers.hpp"

namespace kern::io::detail {

/// What NumPy calls T: byte order, kind, bytes.
template <class T>
std::string npy_dtype() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  const char* const order = sizeof(T) == 1 ? "|" : std::endian::native == std::endian::little ? "<" : ">";
  const char* const kind = std::is_same_v<T, bool>       ? "b"
                           : std::is_floating_point_v<T> ? "f"
                           : std::is_signed_v<T>         ? "i"
                                                         : "u";
  return text(order, kind, sizeof(T));
}
/// "<f4" as float32, where it is a number; else as it is.
inline std::string npy_name(const std::string& dtype) {
  if (dtype.size() != 3 || std::string_view("biuf").find(dtype[1]) == std::string_view::npos ||
      dtype[2] < '1' || dtype[2] > '8')
    return text("'", dtype, "'");
  const char* const kind = dtype[1] == 'b'   ? "bool"
                           : dtype[1] == 'f' ? "float"
                           : dtype[1] == 'i' ? "int"
                                             : "uint";
  return dtype[1] == 'b' ? kind : text(kind, 8 * (dtype[2] - '0'));
}

struct NpyHeader {
  std::string dtype;  // "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t end = 0;  // where the elements begin
};

/// Reads the Python dict in bytes `from` to `to` of a file.
class NpyDict {
 public:
  NpyDict(const std::string& path, std::string_view file, std::size_t from, std::size_t to)
      : path_(path), file_(file.substr(0, to)), at_(from) {}
  /// Throws DataError for any that is not of the three keys.
  [[gnu::cold]] NpyHeader read() {
    NpyHeader h;
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      const int number = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (number == 3 || seen[number])
        wrong(text("expected the keys descr, fortran_order and shape once each, got '", key, "'"));
      seen[number] = true;
      if (number == 0)
        h.dtype = dtype();
      else if (number == 1)
        h.fortran_order = truth();
      else
        h.shape = shape();
      if (take(',')) continue;
      expect('}');
      break;
    }
    if (!seen[0] || !seen[1] || !seen[2]) wrong("expected the keys descr, fortran_order and shape");
    skip_space();
    if (at_ != file_.size()) wrong("expected nothing behind the dict");
    h.end = file_.size();
    return h;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw DataError(text(path_, ": its header, near byte ", at_, ": ", what));
  }
  void skip_space() {
    while (at_ < file_.size() && (file_[at_] == ' ' || file_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == file_.size() || file_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(text("expected ", std::string_view(&c, 1)));
  }
  bool take(std::string_view word) {
    skip_space();
    if (file_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string quoted() {
    const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
    const std::size_t end = quote ? file_.find(quote, at_) : file_.npos;
    if (end == file_.npos) wrong("expected a text in quotes");
    const std::string s(file_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  std::string dtype() {
    if (take('[')) wrong("expected one dtype, got several fields (a structured array)");
    std::string d = quoted();
    if (d.size() < 2 || std::string_view("<>|=").find(d[0]) == std::string_view::npos)
      wrong(text("expected a dtype like '<f4', got '", d, "'"));
    if (d[0] == '=') d[0] = std::endian::native == std::endian::little ? '<' : '>';
    return d;
  }
  bool truth() {
    if (take("True")) return true;
    if (!take("False")) wrong("expected True or False");
    return false;
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> s;
    expect('(');
    while (!take(')')) {
      s.push_back(extent());
      if (take(',')) continue;
      expect(')');
      break;
    }
    return s;
  }
  std::int64_t extent() {
    skip_space();
    const std::size_t first = at_;
    std::int64_t n = 0;
    for (; at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, file_[at_] - '0', &n))
        wrong("an extent: expected at most 2^63 - 1");
    if (at_ == first) wrong("an extent: expected a number");
    take('L');  // Python 2's long
    return n;
  }

  const std::string& path_;
  std::string_view file_;
  std::size_t at_;
};

/// Throws DataError for what is no NumPy file, a version above 3, or a header that is not as described.
[[gnu::cold]] inline NpyHeader parse_npy_header(const std::string& path,
                                                std::span<const std::uint8_t> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.starts_with("PK\3\4"))
    throw DataError(text(path, ": is a .npz file: read it with kern::io::NpzFile of <kern/io/npz.hpp>"));
  if (file.substr(0, 6) != std::string_view("\x93NUMPY"))
    throw DataError(text(path, ": is no .npy file: expected \\x93NUMPY at its beginning"));
  const int version = bytes.size() > 6 ? bytes[6] : 0;
  const std::size_t from = version == 1 ? 10 : 12;
  if (bytes.size() < from)
    throw DataError(
        text(path, ": its header is cut off: expected at least ", from, " bytes, got ", bytes.size()));
  if (version < 1 || version > 3)
    throw DataError(text(path, ": version of the format: expected 1 to 3, got ", version));
  const std::size_t length =
      version == 1 ? number_at<std::uint16_t>(bytes.data() + 8) : number_at<std::uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - from)
    throw DataError(
        text(path, ": its header is cut off: expected ", length, " bytes, got ", bytes.size() - from));
  return NpyDict(path, file, from, from + length).read();
}

/// The header as NumPy writes it, to the byte: version 1, room for the first extent to grow, and as much
/// space as aligns the elements to 64 bytes.
[[gnu::cold]] inline std::string npy_header(const std::string& dtype, std::span<const int> shape) {
  std::string dict =
      text("{'descr': '", dtype, "', 'fortran_order': False, 'shape': ", shape_string(shape), ", }");
  if (!shape.empty()) dict.append(21 - text(shape[0]).size(), ' ');
  dict.append(64 - (10 + dict.size() + 1) % 64, ' ');
  dict += '\n';
  const char length[] = {char(dict.size() % 256), char(dict.size() / 256)};
  return std::string("\x93NUMPY\1\0", 8) + std::string(length, 2) + dict;
}

}  // namespace kern::io::detail
