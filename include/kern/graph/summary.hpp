// summary: a net's layers with their output shapes and sizes, like torchinfo's.
#pragma once
#include <string_view>

#include "facts.hpp"
#include "text.hpp"

namespace kern {

namespace graph {
/// That layer joins all but the last of more than two branches: the next join of their container goes on.
template <class Net>
bool is_partial_join(int layer) {
  const auto text_of = [](int l) { return std::string_view(nn::layer_paths<Net>[std::size_t(l)].text); };
  for (int l = layer + 1; l < nn::layer_count<Net>; ++l) {
    const nn::Reads& r = nn::layer_reads<Net>[std::size_t(l)];
    if (r.second != nn::Reads::none && r.first == layer && text_of(l) == text_of(layer)) return true;
  }
  return false;
}
}  // namespace graph

/// A table of Net's layers for samples of shape In: output shape, parameters, multiply-adds of one sample;
/// then totals.
template <class Net, class In>
std::string summary() {
  if constexpr (!graph::fits<Net, In, host::Backend<float>>()) return {};
  constexpr auto& p = graph::plan<Net, In, host::Backend<float>>;
  using Texts = graph::detail::LayerTexts<nn::flat_layers<Net>>;
  std::vector<std::vector<std::string>> rows{{"Layer", "Output shape", "Parameters", "Multiply-adds"}};
  rows.push_back({"input", graph::dims_text(p.input), "", ""});
  int layer = 0;
  for (const graph::LayerText& t : Texts::make(nn::layer_paths<Net>)) {
    if (graph::is_partial_join<Net>(layer)) {
      ++layer;
      continue;
    }
    long macs = 0;
    for (int s = 0; s < p.stages; ++s)
      if (p.stage[std::size_t(s)].anchor == layer) macs += p.stage[std::size_t(s)].multiply_adds();
    rows.push_back({t.path + ": " + t.repr, graph::dims_text(p.dims[std::size_t(layer)]),
                    t.parameters ? graph::with_commas(t.parameters) : "",
                    macs ? graph::with_commas(std::uint64_t(macs)) : ""});
    ++layer;
  }
  return graph::table(rows) + "Parameters: " + graph::with_commas(p.parameters) +
         "  FLOPs a sample: " + graph::in_units(double(flop_count<Net, In>)) +
         "  training memory a sample: " + graph::in_units(double(workspace_bytes<Net, In>)) + "B\n";
}

}  // namespace kern
