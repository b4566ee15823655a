// Training and evaluation of a model.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../graph/model.hpp"
#include "../ops/cross_entropy.hpp"
#include "../ops/lerp.hpp"
#include "clip.hpp"
#include "optimizer_state.hpp"

namespace kern {

/// What evaluate() found: mean loss and share of right answers over `count` samples.
struct Evaluation {
  double loss = 0, accuracy = 0;
  std::size_t count = 0;
};

namespace detail {

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
/// Gradients are clipped where the fourth argument says so: ClipNorm{1}, ClipValue{0.5}.
/// The model must outlive the trainer. Random draws depend on the model's seed and the number of batches
/// alone.
template <class Model, class Loss, class Optimizer, class Clip = NoClip>
class Trainer
    : graph::Refused<detail::loss_fault<Model, Loss>(),
                     graph::layer_text<typename Model::Net, detail::loss_fault<Model, Loss>().layer>()> {
  using Executor = typename Model::Executor;
  using T = typename Model::Element;
  static constexpr int trained = Executor::structure.trained(Loss::skips_log_softmax);

 public:
  Trainer(Model& model, Loss loss, Optimizer optimizer, Clip clip = {})
      : model_(model), loss_(loss), optimizer_(optimizer), clip_(clip), state_(model, optimizer) {
    optimizer.check();
    clip.check();
    if (Loss::classes != dyn && Loss::classes != model_.plan().output().size())
      throw ShapeError(text(mismatch_text(Mismatch::loss_classes), ": expected ",
                            model_.plan().output().size(), " (outputs of the net), got ", Loss::classes));
  }

  /// One step on a batch (`images`, `labels`), and on all that accumulate() had since the last: their samples
  /// count alike, as those of one large batch. -> the batch's loss before the update.
  /// Throws DataError for a label outside the classes, ShapeError where images and labels don't fit,
  /// NumericError if the loss is not finite: it names the step and the first layer whose output isn't.
  /// Parameters are then as before.
  template <class Batch>
  float step(const Batch& batch) {
    if constexpr (fits<decltype(batch.images)>())
      return step_on(view(batch.images), batch.labels);
    else
      return 0;
  }
  float step(const typename Model::Batch& images, std::span<const std::int32_t> labels) {
    return step_on(images, labels);
  }
  /// The gradient of a batch, for the next step(). -> its loss. Throws as step() does.
  template <class Batch>
  float accumulate(const Batch& batch) {
    if constexpr (fits<decltype(batch.images)>())
      return accumulate_on(view(batch.images), batch.labels);
    else
      return 0;
  }
  float accumulate(const typename Model::Batch& images, std::span<const std::int32_t> labels) {
    return accumulate_on(images, labels);
  }

  /// Loss and accuracy over all batches of a loader (or any range of them), dropout off; parameters don't
  /// change. Each metric is given the net's outputs and the labels: metric.update(scores, labels), as of
  /// train/metrics.hpp. Throws as step() does; NumericError says what is not finite.
  template <class Loader, class... Metrics>
  Evaluation evaluate(Loader&& loader, Metrics&... metrics) {
    Evaluation r;
    for (const auto& batch : loader) {
      if constexpr (fits<decltype(batch.images)>()) add(r, view(batch.images), batch.labels, metrics...);
    }
    if (r.count) r.loss /= double(r.count), r.accuracy /= double(r.count);
    return r;
  }

  /// Steps done.
  std::int64_t steps() const { return steps_; }
  /// Its values may be changed between steps (a learning rate, say).
  Optimizer& optimizer() { return optimizer_; }
  /// What the optimizer remembers, by name.
  auto& optimizer_state() { return state_; }
  /// With ClipNorm the norm of the last step's gradients, before they were clipped.
  double gradient_norm() const
    requires std::is_same_v<Clip, ClipNorm>
  {
    return clip_.last(std::as_const(model_).executor().backend());
  }
  Model& model() { return model_; }

 private:
  // A step's update 0 merges accumulated gradients; the optimizer's are those from 1 on.
  template <class Images>
  float step_on(const Images& images, std::span<const std::int32_t> labels) {
    const int n = check(images, labels);
    Executor& e = model_.executor();
    auto& backend = e.backend();
    const std::size_t size = e.parameters().size();
    clip_.prepare(backend, size);
    state_.prepare(backend, optimizer_, clip_, 1, size);
    const bool merges = accumulated_samples_ > 0;
    const ops::Lerp<T> merge{T(double(accumulated_samples_) / double(accumulated_samples_ + n))};
    if (merges) backend.set_update(0, merge);
    const double loss = run(recordings_[merges], images, labels, n, [&] {
      T* const g = e.gradients().data();
      if (merges) backend.update(0, size, merge, g, std::as_const(accumulated_).data());
      clip_.measure(backend, size, std::as_const(g));
      state_.update(backend, optimizer_, clip_, 1, e.parameters().data(), g);
    });
    state_.done(optimizer_);
    e.parameters_changed();
    accumulated_samples_ = 0;
    ++steps_;
    return float(loss);
  }
  template <class Images>
  float accumulate_on(const Images& images, std::span<const std::int32_t> labels) {
    const int n = check(images, labels);
    Executor& e = model_.executor();
    auto& backend = e.backend();
    const std::size_t size = e.parameters().size();
    if (accumulated_.size() == 0) accumulated_ = backend.template allocate<T>(size);
    const ops::Lerp<T> merge{T(n / double(accumulated_samples_ + n))};
    backend.set_update(0, merge);
    const double loss = run(recordings_[2], images, labels, n, [&] {
      backend.update(0, size, merge, accumulated_.data(), std::as_const(e.gradients()).data());
    });
    accumulated_samples_ += n;
    return float(loss);
  }
  /// Forward, loss, backward, and then what use() makes of the gradients. -> the loss, which is finite.
  template <class Recordings, class Images, class Use>
  double run(Recordings& recordings, const Images& images, std::span<const std::int32_t> labels, int n,
             const Use& use) {
    Executor& e = model_.executor();
    auto& backend = e.backend();
    reserve(n);
    const auto samples = backend.samples_of(images);
    e.begin(samples, n, Draw{model_.seed(), std::uint32_t(batches_), true});
    const std::int32_t* const classes = backend.labels(labels);
    const double loss = backend.step(
        recordings, n,
        [&] {
          const graph::Stage& last = model_.plan().stage[std::size_t(trained - 1)];
          const T* const z = e.template run<trained>(samples, n);
          return loss_(backend, z, std::size_t(last.out_size()), n, classes, layout(last),
                       e.template output_gradient<trained>(), each_.data());
        },
        [&] {
          e.template backward<trained>(n);
          e.template track<trained>(n);
          use();
        });
    if (!std::isfinite(loss)) refuse(images, n, loss);
    ++batches_;
    return loss;
  }

  /// As the model takes them, on the host or the model's device.
  template <class Images>
  static auto view(const Images& images) {
    if constexpr (std::is_constructible_v<typename Model::Batch, const Images&>)
      return typename Model::Batch(images);
    else
      return typename Model::BatchOnDevice(images);
  }
  /// Refuses to compile where the images can't be the model's, and is then false: nothing else complains.
  template <class Images>
  static constexpr bool fits() {
    using I = std::remove_cvref_t<Images>;
    constexpr Fault f = detail::samples_fault<typename Model::Input::Batch, typename I::Extents, 1>();
    (void)sizeof(graph::Refused<f, kern::detail::Text<1>{}>);
    constexpr bool same_type = std::is_same_v<std::remove_const_t<typename I::Element>, T>;
    constexpr bool reachable = std::is_constructible_v<typename Model::Batch, const I&> ||
                               std::is_constructible_v<typename Model::BatchOnDevice, const I&>;
    static_assert(same_type, "the elements of the batch's images are not of the model's type");
    static_assert(f.kind != Mismatch::none || !same_type || reachable,
                  "the batch's images are on a device that the model is not on: images.to(Host{})");
    return f.kind == Mismatch::none && same_type && reachable;
  }
  static ops::ClassLayout layout(const graph::Stage& s) {
    const auto image = s.image();
    return {image.channels, image.h * image.w, s.cols()};
  }
  /// -> how many samples.
  template <class Images>
  [[gnu::noinline]] int check(const Images& images, std::span<const std::int32_t> labels) const {
    const auto n = std::size_t(images.extent(0));
    if (n == 0) throw ArgumentError("a batch has at least 1 sample, got 0");
    if (n != labels.size())
      throw ShapeError(text("labels of a batch: expected ", n, " (its images), got ", labels.size()));
    const int classes = model_.plan().output().size();
    for (std::size_t i = 0; i < n; ++i)
      if (labels[i] < 0 || labels[i] >= classes)
        throw DataError(
            text("label of sample ", i, " in the batch: expected 0 to ", classes - 1, ", got ", labels[i]));
    if constexpr (!Model::Input::is_static) {
      const Dims d = model_.plan().input;
      const int want[] = {Model::Input::rank == 1 ? d.size() : d.c, d.h, d.w};
      for (int i = 0; i < Model::Input::rank; ++i)
        if (int(images.extent(i + 1)) != want[i])
          throw ShapeError(
              text("extent ", i + 1, " of the images: expected ", want[i], ", got ", images.extent(i + 1)));
    }
    return int(n);
  }
  void reserve(int n) {
    if (each_.size() < std::size_t(n))
      each_ = model_.executor().backend().template allocate<T>(std::size_t(n));
  }
  template <class Images>
  [[noreturn, gnu::cold]] void refuse(const Images& images, int n, double loss) {
    const std::string what =
        text("step ", steps_ + 1, ": the loss is ", std::isnan(loss) ? "nan" : "infinite", "; ");
    refuse_pixels(images, what);
    const int s = model_.executor().template first_not_finite<trained>(n);
    if (s < 0) throw NumericError(text(what, "all layers' outputs are finite, but too far apart"));
    const int layer = model_.plan().stage[std::size_t(s)].anchor;
    throw NumericError(text(what, "the first output that is not finite is that of layer ", layer, " (",
                            nn::layer_paths<typename Model::Net>[std::size_t(layer)].text,
                            "); a smaller learning rate may help"));
  }
  template <class Images>
  [[noreturn, gnu::cold]] void refuse_evaluation(const Images& images, std::size_t before,
                                                 double loss) const {
    const std::string what = text("evaluate: the loss is ", std::isnan(loss) ? "nan" : "infinite",
                                  " in the batch that begins with sample ", before, "; ");
    refuse_pixels(images, what);
    for (const std::string& name : Model::parameter_names())
      for (const T v : model_.parameter(name))
        if (!std::isfinite(v))
          throw NumericError(text(what, "a value of ", name, " is not finite: training diverged"));
    throw NumericError(text(what, "all pixels and parameters are finite, but some too large"));
  }
  /// Throws if a pixel is not finite.
  [[gnu::cold]] void refuse_pixels(const typename Model::Batch& images, const std::string& what) const {
    for (std::size_t i = 0; i < images.size(); ++i)
      if (!std::isfinite(images.data()[i]))
        throw NumericError(text(what, "sample ", i / std::size_t(model_.plan().input.size()),
                                " of the batch has a pixel that is not finite"));
  }
  template <class Images>
  [[gnu::cold]] void refuse_pixels(const Images& images, const std::string& what) const {
    refuse_pixels(typename Model::Batch(images.to(Host{})), what);
  }
  template <class Images, class... Metrics>
  void add(Evaluation& r, const Images& images, std::span<const std::int32_t> labels, Metrics&... metrics) {
    const int n = check(images, labels);
    Executor& e = model_.executor();
    const T* z = e.infer(e.backend().samples_of(images), n);
    reserve(n);
    const graph::Stage& last = model_.plan().stage[std::size_t(Executor::stages - 1)];
    const ops::ClassLayout l = layout(last);
    const double loss = loss_(e.backend(), z, std::size_t(last.out_size()), n, e.backend().labels(labels), l,
                              static_cast<T*>(nullptr), each_.data());
    if (!std::isfinite(loss)) refuse_evaluation(images, r.count, loss);
    r.loss += n * loss;
    z = e.backend().to_host(z, std::size_t(n) * std::size_t(last.out_size()));
    std::vector<T> scores;
    for (int i = 0; i < n; ++i, z += last.out_size()) {
      int best = 0;
      for (int j = 1; j < l.classes(); ++j)
        if (z[l.at(j)] > z[l.at(best)]) best = j;
      r.accuracy += best == labels[std::size_t(i)];
      if constexpr (sizeof...(metrics) > 0)
        for (int j = 0; j < l.classes(); ++j) scores.push_back(z[l.at(j)]);
    }
    (metrics.update(TensorView<const T, Shape<dyn, dyn>>(scores.data(), n, l.classes()), labels), ...);
    r.count += std::size_t(n);
  }

  using Backend = std::remove_reference_t<decltype(std::declval<Executor&>().backend())>;
  using Memory = typename Backend::template Memory<T>;

  Model& model_;
  Loss loss_;
  Optimizer optimizer_;
  typename Clip::template At<Backend> clip_;
  OptimizerState<Optimizer, Memory> state_;
  Memory each_;         // a batch's losses
  Memory accumulated_;  // the mean gradient of so many samples
  std::int64_t accumulated_samples_ = 0;
  typename Backend::Recordings recordings_[3];  // of a step, of one that ends accumulation, of accumulate()
  std::int64_t steps_ = 0, batches_ = 0;
};

}  // namespace kern
