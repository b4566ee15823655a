// Tensors on a device as text, as PyTorch prints them: tensor([1., 2.], device='cuda:0').
#pragma once
#include "../tensor/print.hpp"
#include "tensor.hpp"

#ifdef __CUDACC__
namespace kern {

namespace detail {

/// `printed` is a tensor of the host; with the device behind the elements, in front of what else stands
/// there. Lines break where PyTorch's do (dtype=torch.float64 there), at 80 columns.
inline std::string with_device(std::string printed, const std::string& device, bool empty, int rank,
                               const std::string& shape, const std::string& dtype) {
  constexpr std::size_t line_width = 80;
  std::string s = empty ? "tensor([]" : printed.substr(0, printed.size() - 1);
  std::size_t column = s.size() - (s.rfind('\n') + 1) + 2;
  const auto add = [&](const std::string& suffix, std::size_t width) {
    if (column + width + 2 > line_width) {
      s += ",\n       " + suffix;
      column = 7 + width;
    } else {
      s += ", " + suffix;
      column += width + 2;
    }
  };
  add(device, device.size());
  if (empty && rank != 1) add("size=" + shape, shape.size() + 5);
  if (dtype != "float32" && (empty || (dtype != "int64" && dtype != "bool")))
    add("dtype=" + dtype, dtype.size() + 12);
  return s + ")";
}

}  // namespace detail

/// As the host's to_string, with the device. Waits until the elements are here.
template <class T, class S>
std::string to_string(const TensorView<T, S, Cuda>& v) {
  using Element = std::remove_const_t<T>;
  const auto t = v.to(Host{});
  // Printed as float32 or in the elements' own form: neither names its type.
  const detail::Printer printer(t.shape().data(), S::rank, detail::elements_of<Element>(t.data()));
  return detail::with_device(printer.text("float32"), text("device='cuda:", v.device().device, "'"),
                             t.size() == 0, S::rank, shape_string(t.shape()), detail::dtype_name<Element>());
}
template <class T, class S>
std::string to_string(const Tensor<T, S, Cuda>& t) {
  return to_string(t.view());
}

/// to_string(v), for those who include <ostream>.
template <class Traits, class T, class S>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const TensorView<T, S, Cuda>& v) {
  return out << to_string(v).c_str();
}
template <class Traits, class T, class S>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const Tensor<T, S, Cuda>& t) {
  return out << to_string(t.view()).c_str();
}

}  // namespace kern
#endif
