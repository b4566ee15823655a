#pragma once
#include "layer.hpp"

namespace kern::nn {

/// Where an Embedding has no padding_idx.
inline constexpr int no_padding_idx = 1 << 30;

/// A learned vector for each of Num indices: (L) -> (Dim, L, 1), y[d, i, 0] = weight[x[i], d]: PyTorch's
/// nn.Embedding(Num, Dim, PaddingIdx)(x).transpose(1, 2).unsqueeze(3), an image whose channels are the
/// vector, so that GlobalAvgPool2d is their mean and Conv2d<Dim, Out, Size2{3, 1}> a Conv1d. The first layer
/// of a net. Samples are the indices as numbers of the model's type, 0 to Num - 1, which are exact up to
/// 2^24; any other number is a DataError. PaddingIdx: the index (from the end, if negative) whose vector
/// begins as 0 and gets no gradient. Parameters: weight (Num, Dim), N(0, 1).
template <int Num, int Dim, int PaddingIdx = no_padding_idx>
struct Embedding {
  static_assert(Num > 0 && Dim > 0, "Embedding: num_embeddings and embedding_dim are at least 1");
  static_assert(Num <= 1 << 24, "Embedding: a float tells 2^24 indices apart");
  static_assert(PaddingIdx == no_padding_idx || (PaddingIdx >= -Num && PaddingIdx < Num),
                "Embedding: padding_idx is one of the indices");
  static constexpr int padding_idx = PaddingIdx == no_padding_idx ? -1
                                     : PaddingIdx < 0             ? PaddingIdx + Num
                                                                  : PaddingIdx;

  static constexpr Lowering lowers_to = Lowering::lookup;
  static constexpr Rule rule(Dims d) {
    Rule r{{Dim, d.size(), 1}, {}};
    r.rows = Num, r.padding_row = padding_idx;
    if (!d.flat) r.fault = {Mismatch::embedding_needs_flat, -1, 1, 3};
    return r;
  }
  static constexpr std::array parameters{Parameter{"weight", {Num, Dim}, 2, 1, Initial::normal, padding_idx}};
  static std::string repr() {
    return text("Embedding(", Num, ", ", Dim,
                padding_idx < 0 ? std::string(")") : text(", padding_idx=", padding_idx, ")"));
  }
};

}  // namespace kern::nn
