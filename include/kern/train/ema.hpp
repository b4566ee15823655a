#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../core/error.hpp"
#include "../core/text.hpp"
#include "../ops/lerp.hpp"

namespace kern {

/// An exponential moving average of a model's parameters, as PyTorch's AveragedModel with
/// get_ema_multi_avg_fn(decay):  average = decay * average + (1 - decay) * parameters.  The first update()
/// copies them. The model must outlive it.
template <class Model>
class Ema {
  using T = typename Model::Element;
  using Memory = std::remove_cvref_t<decltype(std::declval<Model&>().executor().parameters())>;

 public:
  /// Throws ArgumentError where decay is not in [0, 1].
  explicit Ema(Model& model, double decay = 0.999) : model_(model), decay_(decay) {
    if (!(decay >= 0 && decay <= 1)) throw ArgumentError(text("Ema: decay must be in [0, 1], got ", decay));
    auto& e = model.executor();
    average_ = e.backend().template allocate<T>(e.parameters().size());
  }

  /// After a training step. Throws ArgumentError while the average is swapped in.
  void update() {
    if (swapped_) throw ArgumentError("Ema: update() while the average is in the model: swap() comes first");
    apply(ops::Lerp<T>{T(updates_ == 0 ? 1 : 1 - decay_)}, average_.data(), parameters());
    ++updates_;
  }
  /// The average and the model's parameters change places: before an evaluation, and again after it. Throws
  /// ArgumentError before the first update().
  void swap() {
    if (updates_ == 0) throw ArgumentError("Ema: swap() before the first update(): there is no average yet");
    apply(ops::Exchange{}, parameters(), parameters(), average_.data());
    model_.executor().parameters_changed();
    swapped_ = !swapped_;
  }
  /// The average is in the model.
  bool swapped() const { return swapped_; }
  /// Updates done.
  std::int64_t updates() const { return updates_; }
  /// For checkpoints (io/checkpoint.hpp), together with a trainer of the model.
  template <class Visitor>
  void state(Visitor& v) {
    v.fixed("ema.decay", decay_);
    v.count("ema.updates", updates_);
    v.value("ema.swapped", swapped_);
    model_.state(v, "ema.average.", average_);
  }

 private:
  T* parameters() { return model_.executor().parameters().data(); }
  template <class Op, class... State>
  void apply(const Op& op, T* w, const T* g, State*... states) {
    model_.executor().backend().apply(average_.size(), op, w, g, states...);
  }

  Model& model_;
  double decay_;
  Memory average_;
  std::int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace kern
