// Tensors as text, in PyTorch's form with its default options:
//   tensor([[ 1.0000, -0.5000],
//           [ 0.2500,  3.0000]], dtype=float64)
// The rules are those of PyTorch's torch/_tensor_str.py.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iosfwd>
#include <string>
#include <vector>

#include "tensor.hpp"

namespace kern {

namespace detail {

/// PyTorch's name of T: "float32", "uint8".
template <class T>
std::string dtype_name() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_floating_point_v<T>)
    return "float" + std::to_string(8 * sizeof(T));
  else
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

/// Elements whose type is forgotten: the printer is compiled once, not for each.
struct Elements {
  const void* data;
  double (*real)(const void*, std::size_t);       // null unless floating
  std::string (*text)(const void*, std::size_t);  // null if floating
};

template <class T>
Elements elements_of(const T* data) {
  if constexpr (std::is_floating_point_v<T>)
    return {data, [](const void* p, std::size_t i) { return double(static_cast<const T*>(p)[i]); }, nullptr};
  else
    return {data, nullptr, [](const void* p, std::size_t i) {
              const T value = static_cast<const T*>(p)[i];
              if constexpr (std::is_same_v<T, bool>)
                return std::string(value ? "True" : "False");
              else
                return std::to_string(value);
            }};
}

class Printer {
 public:
  Printer(const int* shape, int rank, const Elements& elements)
      : shape_(shape), rank_(rank), elements_(elements), steps_(std::size_t(rank)) {
    std::size_t size = 1;
    for (int d = rank; d-- > 0;) {
      steps_[std::size_t(d)] = size;
      size *= std::size_t(shape[d]);
    }
    empty_ = size == 0;
    summarized_ = size > threshold;
    if (!empty_) choose_format();
  }

  std::string text(const std::string& dtype) const {
    std::string s = "tensor(" + (empty_ ? "[]" : part(0, 0, 7));
    // The dtype of an empty tensor can't be guessed from its elements, its shape not from the brackets.
    std::vector<std::string> suffixes;
    if (empty_ && rank_ != 1)
      suffixes.push_back("size=" + shape_string(std::vector<int>(shape_, shape_ + rank_)));
    const bool guessed = dtype == "float32" || (!empty_ && (dtype == "int64" || dtype == "bool"));
    if (!guessed) suffixes.push_back("dtype=" + dtype);
    const std::size_t newline = s.rfind('\n');
    std::size_t column = newline == std::string::npos ? s.size() + 2 : s.size() - newline + 1;
    for (const std::string& suffix : suffixes) {
      // PyTorch writes dtype=torch.float64; lines break where its lines do.
      const std::size_t width = suffix.size() + (suffix[0] == 'd' ? 6 : 0);
      if (column + width + 2 > line_width) {
        s += ",\n       " + suffix;
        column = 7 + width;
      } else {
        s += ", " + suffix;
        column += width + 2;
      }
    }
    return s + ")";
  }

 private:
  static constexpr std::size_t threshold = 1000, line_width = 80;
  static constexpr int edge_items = 3, digits = 4;

  bool cut(int d) const { return summarized_ && shape_[d] > 2 * edge_items; }
  /// f(i) for those of dimension d that are shown.
  template <class F>
  void each_shown(int d, F f) const {
    for (int i = 0; i < shape_[d]; ++i) {
      if (cut(d) && i == edge_items) i = shape_[d] - edge_items;
      f(i);
    }
  }
  template <class F>
  void each_element(int d, std::size_t at, F& f) const {
    if (d == rank_)
      f(at);
    else
      each_shown(d, [&](int i) { each_element(d + 1, at + std::size_t(i) * steps_[std::size_t(d)], f); });
  }

  /// One width and one form for all elements that are shown.
  void choose_format() {
    const auto widen = [this](std::size_t width) { width_ = std::max(width_, width); };
    if (!elements_.real) {
      auto measure = [&](std::size_t at) { widen(elements_.text(elements_.data, at).size()); };
      each_element(0, 0, measure);
      return;
    }
    double least = INFINITY, most = 0;
    auto survey = [&](std::size_t at) {
      const double value = elements_.real(elements_.data, at), size = std::fabs(value);
      if (!std::isfinite(value) || size == 0) return;
      least = std::min(least, size);
      most = std::max(most, size);
      whole_ = whole_ && value == std::ceil(value);
    };
    each_element(0, 0, survey);
    if (most == 0) return;  // zeros and non-finite ones only
    scientific_ = most / least > 1000 || most > 1e8 || least < 1e-4;
    auto measure = [&](std::size_t at) {
      const double value = elements_.real(elements_.data, at);
      if (std::isfinite(value) && value != 0) widen(number(value).size());
    };
    each_element(0, 0, measure);
  }
  std::string number(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    // Not snprintf: its decimal point is the locale's. What is not scientific is at most 1e8.
    char text[32];
    const auto form = scientific_ ? std::chars_format::scientific : std::chars_format::fixed;
    const auto written =
        std::to_chars(text, text + sizeof text, value, form, whole_ && !scientific_ ? 0 : digits);
    std::string s(text, written.ptr);
    return whole_ && !scientific_ ? s + "." : s;
  }
  std::string cell(std::size_t at) const {
    const std::string s =
        elements_.real ? number(elements_.real(elements_.data, at)) : elements_.text(elements_.data, at);
    return s.size() < width_ ? std::string(width_ - s.size(), ' ') + s : s;
  }

  std::string part(int d, std::size_t at, std::size_t indent) const {
    if (d == rank_) return cell(at);
    const bool innermost = d == rank_ - 1;
    const std::size_t room = line_width > indent ? (line_width - indent) / (width_ + 2) : 0;
    const std::size_t per_line = innermost ? std::max<std::size_t>(1, room) : 1;
    // Parts of two and more dimensions stand a line apart for each.
    const std::string line_end(innermost ? 1 : std::size_t(rank_ - d - 1), '\n');
    std::string s = "[";
    std::size_t n = 0;
    const auto add = [&](const std::string& item) {
      if (n > 0) s += n % per_line ? ", " : "," + line_end + std::string(indent + 1, ' ');
      s += item;
      ++n;
    };
    each_shown(d, [&](int i) {
      if (cut(d) && i == shape_[d] - edge_items) add(innermost ? " ..." : "...");
      add(part(d + 1, at + std::size_t(i) * steps_[std::size_t(d)], indent + 1));
    });
    return s + "]";
  }

  const int* shape_;
  int rank_;
  Elements elements_;
  std::vector<std::size_t> steps_;  // elements from one of a dimension to the next
  bool empty_ = false, summarized_ = false, scientific_ = false, whole_ = true;
  std::size_t width_ = 1;
};

}  // namespace detail

/// As PyTorch prints a tensor with its default options, but for "torch." before the element type: 4 digits,
/// at most 1000 elements (a larger tensor shows the first and last three of each dimension), 80 columns. The
/// type is named unless it is float, std::int64_t or bool.
template <class T, class S>
std::string to_string(const TensorView<T, S>& v) {
  using Element = std::remove_const_t<T>;
  return detail::Printer(v.shape().data(), S::rank, detail::elements_of<Element>(v.data()))
      .text(detail::dtype_name<Element>());
}
template <class T, class S>
std::string to_string(const Tensor<T, S, Host>& t) {
  return to_string(t.view());
}

/// to_string(v), for those who include <ostream>.
template <class Traits, class T, class S>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const TensorView<T, S>& v) {
  return out << to_string(v).c_str();
}
template <class Traits, class T, class S>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const Tensor<T, S, Host>& t) {
  return out << to_string(t.view()).c_str();
}

}  // namespace kern
