// Batch normalisation.
#pragma once
#include "layer.hpp"

namespace kern::nn {

/// Whether a normalisation has a weight and a bias.
enum class Affine : bool { off = false, on = true };

namespace detail {
template <int Features, double Eps, double Momentum, Affine HasAffine>
struct BatchNorm {
  static_assert(Features > 0, "BatchNorm: features are at least 1");
  static_assert(Eps >= 0, "BatchNorm: eps is at least 0");
  static_assert(Momentum >= 0 && Momentum <= 1, "BatchNorm: momentum lies in [0, 1]");

  static constexpr Lowering lowers_to = Lowering::norm;
  static constexpr NormRates rates{Eps, Momentum};
  static constexpr auto parameters = [] {
    if constexpr (HasAffine == Affine::on)
      return std::array{Parameter{"weight", {Features}, 1, 1, Initial::one},
                        Parameter{"bias", {Features}, 1, 1, Initial::zero}};
    else
      return no_parameters;
  }();
  static constexpr std::array buffers{Parameter{"running_mean", {Features}, 1, 1, Initial::zero},
                                      Parameter{"running_var", {Features}, 1, 1, Initial::one}};
  static std::string repr(const char* name) {
    return text(name, "(", Features, ", eps=", number_text(Eps), ", momentum=", number_text(Momentum),
                ", affine=", HasAffine == Affine::on ? "True" : "False", ", track_running_stats=True)");
  }
};
}  // namespace detail

/// y = (x - mean) / sqrt(var + Eps) * weight + bias, a channel at a time: in training with mean and variance
/// of the batch's elements of the channel, otherwise with running_mean and running_var. A training step makes
/// of these (1 - Momentum) * itself + Momentum * the batch's, of the variance the unbiased one. Parameters:
/// weight, bias (Features), if affine. In inference it is folded into the convolution before it. As in
/// PyTorch, a batch with one element a channel can't be trained on.
template <int Features, double Eps = 1e-5, double Momentum = 0.1, Affine HasAffine = Affine::on>
struct BatchNorm2d : detail::BatchNorm<Features, Eps, Momentum, HasAffine> {
  static constexpr Rule rule(Dims d) {
    Rule r{d, {}};
    if (d.flat)
      r.fault = {Mismatch::norm_needs_image, -1, 3, 1};
    else if (d.c != Features)
      r.fault = {Mismatch::norm_features, -1, d.c, Features};
    return r;
  }
  static std::string repr() {
    return detail::BatchNorm<Features, Eps, Momentum, HasAffine>::repr("BatchNorm2d");
  }
};

/// The same of a flat input, a feature at a time.
template <int Features, double Eps = 1e-5, double Momentum = 0.1, Affine HasAffine = Affine::on>
struct BatchNorm1d : detail::BatchNorm<Features, Eps, Momentum, HasAffine> {
  static constexpr Rule rule(Dims d) {
    Rule r{d, {}};
    if (!d.flat)
      r.fault = {Mismatch::norm_needs_flat, -1, 1, 3};
    else if (d.size() != Features)
      r.fault = {Mismatch::norm_features, -1, d.size(), Features};
    return r;
  }
  static std::string repr() {
    return detail::BatchNorm<Features, Eps, Momentum, HasAffine>::repr("BatchNorm1d");
  }
};

}  // namespace kern::nn
