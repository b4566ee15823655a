#pragma once
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "../core/error.hpp"
#include "../core/memory.hpp"
#include "../core/simd.hpp"
#include "../ops/sgd.hpp"

namespace kern {

/// Stochastic gradient descent with PyTorch's names, defaults and formulas (ops/sgd.hpp has them).
struct Sgd {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  /// Throws ArgumentError for what torch.optim.SGD refuses: negative values, nesterov without momentum or
  /// with dampening.
  void check() const {
    auto refuse = [](const char* name, double v) {
      if (!(v >= 0) || !std::isfinite(v))
        throw ArgumentError(text("Sgd: ", name, " must be finite and >= 0, got ", v));
    };
    refuse("lr", lr);
    refuse("momentum", momentum);
    refuse("weight_decay", weight_decay);
    if (!std::isfinite(dampening))
      throw ArgumentError(text("Sgd: dampening must be finite, got ", dampening));
    if (nesterov && (momentum <= 0 || dampening != 0))
      throw ArgumentError(text("Sgd: nesterov needs momentum > 0 and dampening 0, got momentum ", momentum,
                               ", dampening ", dampening));
  }

  /// What it remembers from step to step.
  template <class Memory>
  struct State {
    Memory velocity;  // empty before the first step with momentum
  };

  /// One step: updates `parameters` in place.
  template <class Backend, class Memory>
  void update(Backend& backend, Memory& parameters, const Memory& gradients, State<Memory>& state) const {
    using T = typename Memory::Element;
    const bool first = state.velocity.size() == 0;
    Memory fresh;  // kept once the step is done: one that fails is not the first
    if (momentum != 0 && first) fresh = backend.template allocate<T>(parameters.size());
    const ops::Sgd<T> op{T(lr), T(momentum), T(dampening), T(weight_decay), nesterov, first};
    T *w = parameters.data(), *v = momentum == 0 ? nullptr : first ? fresh.data() : state.velocity.data();
    const T* g = gradients.data();
    backend.update(parameters.size(), op, w, g, v);
    if (fresh.size()) state.velocity = std::move(fresh);
  }
};

}  // namespace kern
