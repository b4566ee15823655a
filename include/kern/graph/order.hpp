// In which order a plan's stages run, and how long what they write is kept.
#pragma once
#include <array>
#include <cstddef>

#include "plan.hpp"

namespace kern::graph::detail {

/// What a linear layer comes before goes behind all else: a few samples at a time run through the rest. A
/// stage still comes behind those that it reads.
template <int N>
constexpr void dense_last(Plan<N>& plan) {
  const auto stages = plan.stage;
  // By stage + 2: nothing and the net's input come first.
  std::array<bool, std::size_t(2 * N + 2)> late{};
  std::array<int, std::size_t(2 * N + 2)> to{nn::Reads::none, nn::Reads::input};
  for (std::size_t i = 0; i < std::size_t(plan.stages); ++i) {
    const Stage& s = stages[i];
    late[i + 2] = s.kind == Kind::dense || late[std::size_t(s.reads.first + 2)] ||
                  late[std::size_t(s.reads.second + 2)];
  }
  int n = 0;
  for (const bool part : {false, true})
    for (std::size_t i = 0; i < std::size_t(plan.stages); ++i)
      if (late[i + 2] == part) to[i + 2] = n++;
  for (std::size_t i = 0; i < std::size_t(plan.stages); ++i) {
    Stage& s = plan.stage[std::size_t(to[i + 2])] = stages[i];
    s.reads = {to[std::size_t(s.reads.first + 2)], to[std::size_t(s.reads.second + 2)]};
  }
}

/// Says of each output and its gradient whether only the chunk of samples that wrote it reads it. In training
/// all outputs are kept. Chunks go from norm to norm: a gradient that crosses one is kept for the whole
/// batch, as that of the norm itself, which waits for it, or of an embedding.
template <int N>
constexpr void find_inner(Plan<N>& plan, Mode mode) {
  std::array<int, std::size_t(2 * N)> group{};
  int norms = 0;
  for (int i = 0; i < plan.stages; ++i) {
    Stage& s = plan.stage[std::size_t(i)];
    const bool is_norm = s.kind == Kind::norm, late = i >= plan.chunked;
    const int writes_dx = norms;  // in which group
    group[std::size_t(i)] = norms += is_norm;
    s.inner_y = mode == Mode::inference && i + 1 < plan.chunked;
    s.inner_dy = !is_norm && s.kind != Kind::lookup && i + 1 < plan.chunked;
    for (const int from : {s.reads.first, s.reads.second}) {
      if (from == nn::Reads::input && late) plan.late_input = true;
      if (from < 0) continue;
      Stage& read = plan.stage[std::size_t(from)];
      read.inner_y = read.inner_y && !late;
      read.inner_dy = read.inner_dy && !late && group[std::size_t(from)] == writes_dx;
    }
  }
}

}  // namespace kern::graph::detail
