// What was measured, as JSON.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kern/core/text.hpp"

namespace kern::bench {

inline std::string quoted(std::string_view s) {
  std::string q = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    q += c >= 0 && c < ' ' ? ' ' : c;
  }
  return q + '"';
}
inline std::string json(double v) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", v);
  return std::isfinite(v) ? digits : "null";
}
using Fields = std::vector<std::pair<std::string, std::string>>;
inline std::string json(const Fields& fields) {
  std::string s;
  for (const auto& [name, value] : fields) s += text(s.empty() ? "{" : ", ", quoted(name), ": ", value);
  return s.empty() ? "{}" : s + "}";
}
inline std::string list(const std::vector<std::string>& values) {
  std::string s;
  for (const auto& v : values) s += text(s.empty() ? "" : ", ", v);
  return "[" + s + "]";
}
inline std::string list(const std::vector<double>& values) {
  std::vector<std::string> all;
  for (const double v : values) all.push_back(json(v));
  return list(all);
}
/// NaN of none: so it is null where nothing could be measured.
inline double median(std::vector<double> v) {
  std::erase_if(v, [](double x) { return std::isnan(x); });
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}
/// Seconds of every round.
inline Fields timing(const std::vector<double>& v) {
  return {{"seconds", json(median(v))}, {"rounds", list(v)}};
}

}  // namespace kern::bench
