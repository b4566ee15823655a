// A string that can be a template argument: Named<"conv1", L>.
#pragma once
#include <cstddef>
#include <string_view>

#include "compiler.hpp"

namespace kern {

template <std::size_t N>
struct FixedString {
  char text[N]{};
  constexpr FixedString(const char (&s)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
  static constexpr std::size_t size() { return N - 1; }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace kern
