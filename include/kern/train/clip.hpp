// What a Trainer does to gradients before the optimizer sees them. Gradients as Model::gradient() shows them
// stay as they are.
//
// A way to clip is a struct of options with check() and At<Backend>, which is it at work: prepare() before a
// step, measure() when the gradients are there, op<T>(the optimizer's), state() for checkpoints.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

#include "../ops/clip.hpp"
#include "options.hpp"

namespace kern {

/// Gradients are taken as they are.
struct NoClip {
  void check() const {}

  template <class Backend>
  struct At {
    explicit At(const NoClip&) {}
    template <class Visitor>
    void state(Visitor& v) const {
      v.fixed("clip", "NoClip");
    }
    void prepare(Backend&, std::size_t) {}
    template <class T>
    void measure(Backend&, std::size_t, const T*) {}
    template <class T, class Op>
    Op op(const Op& op) const {
      return op;
    }
  };
};

/// torch.nn.utils.clip_grad_norm_ over all parameters: where the gradients' norm is larger than max_norm,
/// they are multiplied by max_norm / (norm + 1e-6). norm_type: 1, 2 or infinity (the largest magnitude).
struct ClipNorm {
  double max_norm;
  double norm_type = 2;

  void check() const {
    detail::require_not_negative("ClipNorm", "max_norm", max_norm);
    if (norm_type != 1 && norm_type != 2 && norm_type != std::numeric_limits<double>::infinity())
      detail::refuse_option("ClipNorm", "norm_type", "1, 2 or infinity", norm_type);
  }

  template <class Backend>
  struct At {
    explicit At(const ClipNorm& c) : norm{c.max_norm, c.norm_type == 2, std::isinf(c.norm_type)} {}
    template <class Visitor>
    void state(Visitor& v) const {
      v.fixed("clip", "ClipNorm");
      v.fixed("clip.max_norm", norm.max_norm);
      v.fixed("clip.squares", norm.squares);
      v.fixed("clip.largest", norm.largest);
    }
    void prepare(Backend& backend, std::size_t n) {
      if (results.size() == 0)
        results = backend.template allocate<double>(ops::Norm::results + Backend::reduce_size(n));
    }
    template <class T>
    void measure(Backend& backend, std::size_t n, const T* g) {
      backend.reduce(n, norm, g, results.data());
    }
    template <class T, class Op>
    ops::Scaled<Op, T> op(const Op& op) const {
      return {op, results.data() + 1};
    }
    double last(const Backend& backend) const {
      return results.size() ? *backend.to_host(results.data(), 1) : 0;
    }

    ops::Norm norm;
    typename Backend::template Memory<double> results;
  };
};

/// torch.nn.utils.clip_grad_value_: every element of the gradients is cut to [-clip_value, clip_value].
struct ClipValue {
  double clip_value;

  void check() const { detail::require_not_negative("ClipValue", "clip_value", clip_value); }

  template <class Backend>
  struct At {
    explicit At(const ClipValue& c) : most(c.clip_value) {}
    template <class Visitor>
    void state(Visitor& v) const {
      v.fixed("clip", "ClipValue");
      v.fixed("clip.clip_value", most);
    }
    void prepare(Backend&, std::size_t) {}
    template <class T>
    void measure(Backend&, std::size_t, const T*) {}
    template <class T, class Op>
    ops::Clamped<Op, T> op(const Op& op) const {
      return {op, T(most)};
    }

    double most;
  };
};

}  // namespace kern
