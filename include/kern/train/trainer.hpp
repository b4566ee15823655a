// Training and evaluation of a model.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "../graph/model.hpp"
#include "../ops/cross_entropy.hpp"

namespace kern {

/// What evaluate() found: mean loss and share of right answers over `count` samples.
struct Evaluation {
  double loss = 0, accuracy = 0;
  std::size_t count = 0;
};

namespace detail {

/// The first extent in which a batch's samples differ from the model's, as a misfit: known before the program
/// runs.
template <class Want, class Got>
constexpr Fault batch_fault() {
  if constexpr (Want::rank != Got::rank) {
    return {Mismatch::batch_image_shape, -1, Want::rank, Got::rank};
  } else {
    for (std::size_t i = 1; i < std::size_t(Want::rank); ++i)
      if (Want::extents[i] != Got::extents[i] && Want::extents[i] != dyn && Got::extents[i] != dyn)
        return {Mismatch::batch_image_shape, -1, Want::extents[i], Got::extents[i]};
    return {};
  }
}

/// What is wrong between a net and a loss.
template <class Model, class Loss>
constexpr Fault loss_fault() {
  constexpr auto& p = Model::Executor::structure;
  constexpr int last = nn::layer_count<typename Model::Net> - 1;
  if (p.fault.kind != Mismatch::none) return {};  // the model complains of that
  if (!p.output().flat) return {Mismatch::loss_needs_flat_output, last, 1, 3};
  if (Loss::classes != dyn && Model::Input::is_static && p.output().size() != Loss::classes)
    return {Mismatch::loss_classes, last, p.output().size(), Loss::classes};
  return {};
}

}  // namespace detail

/// Trains a model: step() does forward, loss, backward and update; evaluate() measures with dropout off.
/// The model must outlive the trainer. Random draws depend on the model's seed and the number of steps alone.
template <class Model, class Loss, class Optimizer>
class Trainer
    : graph::Refused<detail::loss_fault<Model, Loss>(),
                     graph::layer_text<typename Model::Net, detail::loss_fault<Model, Loss>().layer>()> {
  using Executor = typename Model::Executor;
  using T = typename Model::Element;
  // A log-softmax at the end is part of the loss.
  static constexpr int trained =
      Executor::stages -
      (Loss::skips_log_softmax && Executor::stages > 1 &&
       Executor::structure.stage[std::size_t(Executor::stages - 1)].kind == graph::Kind::log_softmax);

 public:
  Trainer(Model& model, Loss loss, Optimizer optimizer) : model_(model), loss_(loss), optimizer_(optimizer) {
    optimizer_.check();
  }

  /// One step on a batch (`images`, `labels`). -> its loss before the update.
  /// Throws DataError for a label outside the classes, ShapeError where images and labels don't fit,
  /// NumericError if the loss is not finite: it names the step and the first layer whose output isn't.
  /// Parameters are then as before.
  template <class Batch>
  float step(const Batch& batch) {
    if constexpr (fits<decltype(batch.images)>())
      return step(typename Model::Batch(batch.images), batch.labels);
    else
      return 0;
  }
  float step(const typename Model::Batch& images, std::span<const std::int32_t> labels) {
    const int n = check(images, labels);
    Executor& e = model_.executor();
    const T* z =
        e.template forward<trained>(images.data(), n, Draw{model_.seed(), std::uint32_t(steps_), true});
    reserve(n);
    const graph::Stage& last = model_.plan().stage[std::size_t(trained - 1)];
    const double loss = loss_(e.backend(), z, std::size_t(last.out_size()), n, labels.data(), layout(last),
                              e.template output_gradient<trained>(), each_.data());
    if (!std::isfinite(loss)) refuse(images, n, loss);
    e.template backward<trained>(n);
    optimizer_.update(e.backend(), e.parameters(), e.gradients(), state_);
    e.parameters_changed();
    ++steps_;
    return float(loss);
  }

  /// Loss and accuracy over all batches of a loader (or any range of them), dropout off; parameters don't
  /// change.
  template <class Loader>
  Evaluation evaluate(Loader&& loader) {
    Evaluation r;
    for (const auto& batch : loader) {
      if constexpr (fits<decltype(batch.images)>()) add(r, typename Model::Batch(batch.images), batch.labels);
    }
    if (r.count) r.loss /= double(r.count), r.accuracy /= double(r.count);
    return r;
  }

  /// Steps done.
  std::int64_t steps() const { return steps_; }
  /// Its values may be changed between steps (a learning rate, say).
  Optimizer& optimizer() { return optimizer_; }
  Model& model() { return model_; }

 private:
  /// Refuses to compile where the images can't be the model's, and is then false: nothing else complains.
  template <class Images>
  static constexpr bool fits() {
    constexpr Fault f =
        detail::batch_fault<typename Model::Input::Batch, typename std::remove_cvref_t<Images>::Extents>();
    (void)sizeof(graph::Refused<f, kern::detail::Text<1>{}>);
    return f.kind == Mismatch::none;
  }
  static ops::ClassLayout layout(const graph::Stage& s) {
    const bool spread = s.kind == graph::Kind::contraction || s.kind == graph::Kind::window ||
                        s.kind == graph::Kind::log_softmax;
    if (!spread) return {s.dense.co, 1, s.dense.cols};
    if (s.kind == graph::Kind::contraction)
      return {s.contraction.co, s.contraction.out_h() * s.contraction.out_w(), s.contraction.cols};
    if (s.kind == graph::Kind::window)
      return {s.window.c, s.window.out_h() * s.window.out_w(), s.window.cols};
    return {s.rows.c, s.rows.rows * s.rows.pixels, s.rows.cols};
  }
  /// -> how many samples.
  [[gnu::noinline]] int check(const typename Model::Batch& images,
                              std::span<const std::int32_t> labels) const {
    const auto n = std::size_t(images.extent(0));
    if (n == 0) throw ArgumentError("a batch has at least 1 sample, got 0");
    if (n != labels.size())
      throw ShapeError("labels of a batch: expected " + std::to_string(n) + " (its images), got " +
                       std::to_string(labels.size()));
    const int classes = model_.plan().output().size();
    for (std::size_t i = 0; i < n; ++i)
      if (labels[i] < 0 || labels[i] >= classes)
        throw DataError("label of sample " + std::to_string(i) + " in the batch: expected 0 to " +
                        std::to_string(classes - 1) + ", got " + std::to_string(labels[i]));
    if constexpr (!Model::Input::is_static) {
      const Dims d = model_.plan().input;
      const int want[] = {Model::Input::rank == 1 ? d.size() : d.c, d.h, d.w};
      for (int i = 0; i < Model::Input::rank; ++i)
        if (int(images.extent(i + 1)) != want[i])
          throw ShapeError("extent " + std::to_string(i + 1) + " of the images: expected " +
                           std::to_string(want[i]) + ", got " + std::to_string(images.extent(i + 1)));
    }
    return int(n);
  }
  void reserve(int n) {
    if (each_.size() < std::size_t(n)) each_ = Buffer<T>(std::size_t(n));
  }
  [[noreturn, gnu::cold]] void refuse(const typename Model::Batch& images, int n, double loss) {
    std::string what = "step " + std::to_string(steps_ + 1) + ": the loss is " +
                       (std::isnan(loss) ? "nan" : "infinite") + "; ";
    const auto size = std::size_t(model_.plan().input.size());
    for (std::size_t i = 0; i < std::size_t(n) * size; ++i)
      if (!std::isfinite(images.data()[i]))
        throw NumericError(what + "sample " + std::to_string(i / size) +
                           " of the batch has a pixel that is not finite");
    const int s = model_.executor().template first_not_finite<trained>(n);
    if (s < 0) throw NumericError(what + "all layers' outputs are finite, but too far apart");
    const int layer = model_.plan().stage[std::size_t(s)].anchor;
    throw NumericError(what + "the first output that is not finite is that of layer " +
                       std::to_string(layer) + " (" +
                       nn::layer_paths<typename Model::Net>[std::size_t(layer)].text +
                       "); a smaller learning rate may help");
  }
  void add(Evaluation& r, const typename Model::Batch& images, std::span<const std::int32_t> labels) {
    const int n = check(images, labels);
    Executor& e = model_.executor();
    const T* z = e.infer(images.data(), n);
    reserve(n);
    const graph::Stage& last = model_.plan().stage[std::size_t(Executor::stages - 1)];
    const ops::ClassLayout l = layout(last);
    r.loss += n * loss_(e.backend(), z, std::size_t(last.out_size()), n, labels.data(), l,
                        static_cast<T*>(nullptr), each_.data());
    for (int i = 0; i < n; ++i, z += last.out_size()) {
      int best = 0;
      for (int j = 1; j < l.classes(); ++j)
        if (z[l.at(j)] > z[l.at(best)]) best = j;
      r.accuracy += best == labels[std::size_t(i)];
    }
    r.count += std::size_t(n);
  }

  Model& model_;
  Loss loss_;
  Optimizer optimizer_;
  typename Optimizer::template State<T> state_;
  Buffer<T> each_;  // a batch's losses
  std::int64_t steps_ = 0;
};

}  // namespace kern
