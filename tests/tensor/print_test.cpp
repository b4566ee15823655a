// Against what PyTorch prints: tests/golden/make_print_golden.py.
#include "kern/tensor/print.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#ifndef KERN_TEST_DATA
#define KERN_TEST_DATA "tests/golden"
#endif

using namespace kern;

namespace {

struct Case {
  std::string name, dtype, text;
  std::vector<int> shape;
  std::vector<std::string> values;
};

std::vector<Case> read_cases() {
  std::ifstream in(KERN_TEST_DATA "/print.txt");
  REQUIRE_MESSAGE(in.good(), KERN_TEST_DATA "/print.txt cannot be opened");
  std::vector<Case> cases;
  std::string line;
  std::getline(in, line);  // how the file was made
  while (std::getline(in, line)) {
    Case c;
    std::istringstream head(line);
    std::string word;
    head >> word >> c.name >> c.dtype;
    REQUIRE(word == "case");
    for (int extent; head >> extent;) c.shape.push_back(extent);
    std::getline(in, line);
    std::istringstream values(line);
    std::size_t count = 0;
    values >> count;
    while (values >> word) c.values.push_back(word);
    REQUIRE(c.values.size() == count);
    std::getline(in, line);
    for (int lines = std::stoi(line); lines-- > 0;) {
      std::getline(in, line);
      c.text += line + (lines ? "\n" : "");
    }
    cases.push_back(c);
  }
  return cases;
}

template <class T>
T parse(const std::string& word) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(std::strtod(word.c_str(), nullptr));
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(std::stoll(word));
  else
    return static_cast<T>(std::stoull(word));
}

template <int... Dyn, class T>
std::string print(const std::vector<int>& shape, T* data, std::integer_sequence<int, Dyn...>) {
  return to_string(TensorView<const T, Shape<(Dyn * 0 + dyn)...>>(data, shape[std::size_t(Dyn)]...));
}

template <class T>
std::string print(const Case& c) {
  std::size_t size = 1;
  for (int e : c.shape) size *= std::size_t(e);
  host::Buffer<T> elements(size);
  for (std::size_t i = 0; i < size; ++i) elements[i] = parse<T>(c.values[i % c.values.size()]);
  T* data = elements.data();
  switch (c.shape.size()) {
    case 0:
      return print(c.shape, data, std::make_integer_sequence<int, 0>());
    case 1:
      return print(c.shape, data, std::make_integer_sequence<int, 1>());
    case 2:
      return print(c.shape, data, std::make_integer_sequence<int, 2>());
    case 3:
      return print(c.shape, data, std::make_integer_sequence<int, 3>());
    case 4:
      return print(c.shape, data, std::make_integer_sequence<int, 4>());
    case 5:
      return print(c.shape, data, std::make_integer_sequence<int, 5>());
    case 9:
      return print(c.shape, data, std::make_integer_sequence<int, 9>());
  }
  return "a shape that the test can't make";
}

std::string print_as_declared(const Case& c) {
  if (c.dtype == "float32") return print<float>(c);
  if (c.dtype == "float64") return print<double>(c);
  if (c.dtype == "bool") return print<bool>(c);
  if (c.dtype == "int8") return print<std::int8_t>(c);
  if (c.dtype == "int16") return print<std::int16_t>(c);
  if (c.dtype == "int32") return print<std::int32_t>(c);
  if (c.dtype == "int64") return print<std::int64_t>(c);
  if (c.dtype == "uint8") return print<std::uint8_t>(c);
  if (c.dtype == "uint16") return print<std::uint16_t>(c);
  if (c.dtype == "uint32") return print<std::uint32_t>(c);
  if (c.dtype == "uint64") return print<std::uint64_t>(c);
  return "an element type that the test can't make: " + c.dtype;
}

}  // namespace

TEST_CASE("tensors print as PyTorch prints them") {
  const auto cases = read_cases();
  CHECK(cases.size() >= 60);
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(print_as_declared(c) == c.text);
  }
}

TEST_CASE("tensors, views and parts of them print alike, by to_string and by a stream") {
  Tensor<float, Shape<2, 2>> t{1, 2, 3, 4.5f};
  const std::string text = "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])";
  CHECK(to_string(t) == text);
  CHECK(to_string(t.view()) == text);
  CHECK(to_string(std::as_const(t).view()) == text);
  CHECK(to_string(t[0]) == "tensor([1., 2.])");
  CHECK(to_string(t.reshape<Shape<2, 2, 1>>()[1][1]) == "tensor([4.5000])");
  std::ostringstream out;
  out << t << "\n" << t[0];
  CHECK(out.str() == text + "\ntensor([1., 2.])");
}

TEST_CASE("any integer type has the name of its size") {
  CHECK(to_string(Tensor<long, Shape<1>>{5}) == "tensor([5])");
  CHECK(to_string(Tensor<long long, Shape<1>>{5}) == "tensor([5])");
  CHECK(to_string(Tensor<char, Shape<1>>{'a'}).substr(0, 12) == "tensor([97],");
  CHECK(to_string(Tensor<unsigned, Shape<1>>{5u}) == "tensor([5], dtype=uint32)");
}
