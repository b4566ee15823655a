// Numbers and columns for summary and explain.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "../nn/layer.hpp"

namespace kern::graph {

/// 596042 -> "596,042".
inline std::string with_commas(unsigned long long n) {
  const std::string digits = text(n);
  std::string s;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) s += ',';
    s += digits[i];
  }
  return s;
}
/// 6691840 -> "6.69 M"; steps of 1000.
inline std::string in_units(double n) {
  const char* unit[] = {"", " K", " M", " G", " T"};
  int u = 0;
  while (n >= 1000 && u < 4) n /= 1000, ++u;
  char s[32];
  std::snprintf(s, sizeof s, u == 0 ? "%.0f%s" : "%.2f%s", n, unit[u]);
  return s;
}
/// "(16, 26, 26)".
inline std::string dims_text(Dims d) {
  if (d.flat) return text("(", d.size(), ")");
  return text("(", d.c, ", ", d.h, ", ", d.w, ")");
}
/// Rows of cells as columns: the first to the left, the others to the right, two spaces between.
inline std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (width.size() <= c) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::size_t total = 0;
  for (std::size_t w : width) total += w + 2;
  std::string out;
  bool head = true;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(width[c] - row[c].size(), ' ');
      if (c) line += "  ";
      line += c < 1 ? row[c] + gap : gap + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (head) out += std::string(total - 2, '-') + "\n";
    head = false;
  }
  return out;
}

/// A layer in words.
struct LayerText {
  std::string path, repr;
  std::size_t parameters;
};
namespace detail {
template <class Layers>
struct LayerTexts;
template <class... L>
struct LayerTexts<std::tuple<L...>> {
  template <class Paths>
  static std::vector<LayerText> make(const Paths& paths) {
    std::vector<LayerText> v;
    auto add = [&](std::string repr, const auto& parameters) {
      std::size_t n = 0;
      for (const nn::Parameter& p : parameters) n += std::size_t(p.size());
      v.push_back({paths[v.size()].text, std::move(repr), n});
    };
    (add(L::repr(), L::parameters), ...);
    return v;
  }
};
}  // namespace detail

}  // namespace kern::graph
