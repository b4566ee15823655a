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
    Memory velocity;     // empty before the first step with momentum
    bool moves = false;  // a step with momentum is done
    ops::Sgd<typename Memory::Element> op;
  };

  // A step is prepare(), update() and done(), if what comes between does not fail.

  /// Before anything is computed: memory, and this step's numbers.
  template <class Backend, class Memory>
  void prepare(Backend& backend, const Memory& parameters, State<Memory>& state) const {
    using T = typename Memory::Element;
    if (momentum != 0 && state.velocity.size() == 0)
      state.velocity = backend.template allocate<T>(parameters.size());
    state.op = {T(lr), T(momentum), T(dampening), T(weight_decay), nesterov, !state.moves};
    backend.set_update(state.op);
  }
  /// Updates `parameters` in place.
  template <class Backend, class Memory>
  void update(Backend& backend, Memory& parameters, const Memory& gradients, State<Memory>& state) const {
    const bool remembers = state.velocity.size() > 0;
    backend.update(parameters.size(), state.op, parameters.data(), gradients.data(),
                   remembers ? state.velocity.data() : nullptr);
  }
  template <class Memory>
  void done(State<Memory>& state) const {
    if (momentum != 0) state.moves = true;
  }
};

}  // namespace kern
