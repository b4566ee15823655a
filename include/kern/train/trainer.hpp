// Training and evaluation of a model.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../graph/model.hpp"
#include "../ops/lerp.hpp"
#include "clip.hpp"
#include "loss.hpp"
#include "optimizer_state.hpp"

namespace kern {

/// What evaluate() found: the loss over `count` samples, those that the loss leaves out not among them, and
/// the share of right answers; nan where targets are no class numbers.
struct Evaluation {
  double loss = 0, accuracy = 0;
  std::size_t count = 0;
};

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
  using Backend = std::remove_reference_t<decltype(std::declval<Executor&>().backend())>;
  static constexpr bool of_classes = detail::of_classes<Loss>;
  static constexpr int trained = Executor::structure.trained(detail::skips_log_softmax<Loss>());

 public:
  /// What a batch has beside its images: class numbers, or values in the shape of the net's output.
  using Labels =
      std::conditional_t<of_classes, std::span<const std::int32_t>,
                         TensorView<const T, typename detail::BatchOf<typename Model::Output>::type>>;

 private:
  /// Images and labels are what step() takes; else they may not fit, or be on the model's device.
  template <class Images, class Given>
  static constexpr bool converts = std::is_convertible_v<const Images&, typename Model::Batch> &&
                                   std::is_convertible_v<const Given&, Labels>;

 public:
  Trainer(Model& model, Loss loss, Optimizer optimizer, Clip clip = {})
      : model_(model),
        loss_(loss, model.executor().backend(), model.plan().output().size()),
        optimizer_(optimizer),
        clip_(clip),
        state_(model, optimizer) {
    optimizer.check();
    clip.check();
    if constexpr (of_classes)
      if (Loss::classes != dyn && Loss::classes != model_.plan().output().size())
        throw ShapeError(text(mismatch_text(Mismatch::loss_classes), ": expected ",
                              model_.plan().output().size(), " (outputs of the net), got ", Loss::classes));
  }

  /// One step on a batch (`images`, `labels`), and on all that accumulate() had since the last: their samples
  /// count alike, as those of one large batch. -> the batch's loss before the update.
  /// Throws DataError for a label outside the classes or a value that the loss does not take, ShapeError
  /// where images and labels don't fit, NumericError if the loss is not finite: it names the step and the
  /// pixel, parameter or first layer's output that isn't. Parameters are then as before.
  template <class Batch>
  float step(const Batch& batch) {
    if constexpr (takes<Batch>())
      return step_on(view(batch.images), Labels(batch.labels));
    else
      return 0;
  }
  float step(const typename Model::Batch& images, const Labels& labels) { return step_on(images, labels); }
  template <class Images, class Other>
    requires(!converts<Images, Other>)
  float step(const Images& images, const Other& labels) {
    if constexpr (takes<Images, Other>())
      return step_on(view(images), Labels(labels));
    else
      return 0;
  }
  /// The gradient of a batch, for the next step(). -> its loss. Throws as step() does.
  template <class Batch>
  float accumulate(const Batch& batch) {
    if constexpr (takes<Batch>())
      return accumulate_on(view(batch.images), Labels(batch.labels));
    else
      return 0;
  }
  float accumulate(const typename Model::Batch& images, const Labels& labels) {
    return accumulate_on(images, labels);
  }
  template <class Images, class Other>
    requires(!converts<Images, Other>)
  float accumulate(const Images& images, const Other& labels) {
    if constexpr (takes<Images, Other>())
      return accumulate_on(view(images), Labels(labels));
    else
      return 0;
  }

  /// Loss and accuracy over all batches of a loader (or any range of them), dropout off; parameters don't
  /// change. Each metric is given the net's outputs and the labels: metric.update(scores, labels), as of
  /// train/metrics.hpp. Throws as step() does; NumericError says what is not finite.
  template <class Loader, class... Metrics>
  Evaluation evaluate(Loader&& loader, Metrics&... metrics) {
    Evaluation r;
    Seen seen;
    for (const auto& batch : loader)
      if constexpr (takes<std::remove_cvref_t<decltype(batch)>>())
        add(r, seen, view(batch.images), Labels(batch.labels), metrics...);
    if (seen.weight > 0 && loss_.reduction() == Reduction::mean) r.loss /= seen.weight;
    if (r.count) r.accuracy /= double(r.count);
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
  /// For checkpoints (io/checkpoint.hpp): all that later steps depend on, the model's and the optimizer's,
  /// too.
  template <class Visitor>
  void state(Visitor& v) {
    model_.state(v);
    state_.state(v, model_, optimizer_);
    clip_.state(v);
    v.count("trainer.steps", steps_);
    v.count("trainer.batches", batches_);
    if (v.value("trainer.accumulated_weight", accumulated_weight_) > 0)
      model_.state(v, "trainer.accumulated.", accumulated_);
  }

 private:
  // A step's update 0 merges accumulated gradients; the optimizer's are those from 1 on.
  template <class Images>
  float step_on(const Images& images, const Labels& labels) {
    const auto alone = model_.executor().at_work();
    const int n = check(images, labels);
    Executor& e = model_.executor();
    auto& backend = e.backend();
    const double weight = prepare(labels, n);
    const std::size_t size = e.parameters().size();
    clip_.prepare(backend, size);
    state_.prepare(backend, optimizer_, clip_, 1, size);
    const bool merges = accumulated_weight_ > 0;
    const ops::Lerp<T> merge{T(accumulated_weight_ / (accumulated_weight_ + weight))};
    if (merges) backend.set_update(0, merge);
    const double loss = run(recordings_[merges], images, n, [&] {
      T* const g = e.gradients().data();
      if (merges) backend.update(0, size, merge, g, std::as_const(accumulated_).data());
      clip_.measure(backend, size, std::as_const(g));
      state_.update(backend, optimizer_, clip_, 1, e.parameters().data(), g);
    });
    state_.done(optimizer_);
    e.parameters_changed();
    accumulated_weight_ = 0;
    ++steps_;
    return float(loss);
  }
  template <class Images>
  float accumulate_on(const Images& images, const Labels& labels) {
    const auto alone = model_.executor().at_work();
    const int n = check(images, labels);
    Executor& e = model_.executor();
    auto& backend = e.backend();
    const std::size_t size = e.parameters().size();
    if (loss_.reduction() == Reduction::sum)
      throw ArgumentError("accumulate: expected a loss with Reduction::mean, got Reduction::sum");
    const double weight = prepare(labels, n);
    if (accumulated_.size() == 0) accumulated_ = backend.template allocate<T>(size);
    const ops::Lerp<T> merge{T(weight / (accumulated_weight_ + weight))};
    backend.set_update(0, merge);
    const double loss = run(recordings_[2], images, n, [&] {
      backend.update(0, size, merge, accumulated_.data(), std::as_const(e.gradients()).data());
    });
    accumulated_weight_ += weight;
    return float(loss);
  }
  /// Shows the loss a batch to train on. -> its weight.
  double prepare(const Labels& labels, int n) {
    const double weight = loss_.prepare(model_.executor().backend(), labels_of(labels), n);
    if (weight == 0 && loss_.reduction() == Reduction::mean)
      throw NumericError(
          text("step ", steps_ + 1,
               ": the loss is a mean over no sample of the batch: its labels are ignored or of "
               "classes of weight 0"));
    return weight;
  }
  static auto labels_of(const Labels& labels) {
    if constexpr (of_classes)
      return labels;
    else
      return std::span<const T>(labels.data(), labels.size());
  }
  /// Forward, loss, backward, and then what use() makes of the gradients. -> the loss, which is finite.
  template <class Recordings, class Images, class Use>
  double run(Recordings& recordings, const Images& images, int n, const Use& use) {
    Executor& e = model_.executor();
    auto& backend = e.backend();
    reserve(n);
    const auto samples = backend.samples_of(images);
    e.begin(samples, n, ops::Draw{model_.seed(), std::uint32_t(batches_), true});
    const double loss = backend.step(
        recordings, n,
        [&] {
          const graph::Stage& last = model_.plan().stage[std::size_t(trained - 1)];
          const T* const z = e.template run<trained>(samples, n);
          return loss_(backend, z, std::size_t(last.out_size()), n, layout(last),
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

  /// What is no tensor, but samples that the backend knows to read.
  template <class Images>
  static constexpr bool readable = requires(const Images& images) { Backend::samples_of(images); };
  /// As the model takes them, on the host or the model's device.
  template <class Images>
  static auto view(const Images& images) {
    if constexpr (std::is_constructible_v<typename Model::Batch, const Images&>)
      return typename Model::Batch(images);
    else if constexpr (std::is_constructible_v<typename Model::BatchOnDevice, const Images&>)
      return typename Model::BatchOnDevice(images);
    else
      return images;
  }
  /// Whether they are; if not, the compiler says why: of a loader that was refused nothing more.
  template <class Images, class Given>
  static constexpr bool takes() {
    if constexpr (requires { typename std::remove_cvref_t<Given>::refused; })
      return false;
    else
      return fits<Images>() && labels_fit<Given>();
  }
  template <class Batch>
  static constexpr bool takes() {
    constexpr bool is_batch = requires(const Batch& b) { b.images, b.labels; };
    static_assert(is_batch, "expected a batch, with `images` and `labels`, or images and labels apart");
    if constexpr (is_batch)
      return takes<decltype(Batch::images), decltype(Batch::labels)>();
    else
      return false;
  }
  /// Refuses to compile where the images can't be the model's, and is then false: nothing else complains.
  template <class Images>
  static constexpr bool fits() {
    using I = std::remove_cvref_t<Images>;
    constexpr ShapeFault f = detail::samples_fault<typename Model::Input::Batch, typename I::Extents, 1>();
    (void)sizeof(graph::Refused<f, kern::detail::Text<1>{},
                                graph::BothShapes<typename Model::Input::Batch, typename I::Extents>>);
    constexpr bool same_type = std::is_same_v<std::remove_const_t<typename I::Element>, T>;
    constexpr bool reachable = std::is_constructible_v<typename Model::Batch, const I&> ||
                               std::is_constructible_v<typename Model::BatchOnDevice, const I&> ||
                               readable<I>;
    static_assert(same_type, "the elements of the batch's samples are not of the model's type");
    static_assert(f.kind != Mismatch::none || !same_type || reachable,
                  "the batch's samples are on a device that the model is not on: images.to(Host{})");
    return f.kind == Mismatch::none && same_type && reachable;
  }
  /// The same for what the images are compared with.
  template <class Given>
  static constexpr bool labels_fit() {
    using L = std::remove_cvref_t<Given>;
    if constexpr (of_classes) {
      constexpr bool numbers = std::is_constructible_v<Labels, const L&>;
      static_assert(numbers, "the loss takes class numbers (std::int32_t) for labels");
      return numbers;
    } else if constexpr (!detail::IsTensor<L>) {
      static_assert(detail::IsTensor<L>, "the loss takes a tensor of values for labels");
      return false;
    } else {
      constexpr ShapeFault f = detail::samples_fault<typename Labels::Extents, typename L::Extents, 1,
                                                     Mismatch::loss_targets_shape>();
      (void)sizeof(graph::Refused<f, kern::detail::Text<1>{},
                                  graph::BothShapes<typename Labels::Extents, typename L::Extents>>);
      constexpr bool takes = std::is_constructible_v<Labels, const L&>;
      static_assert(f.kind != Mismatch::none || takes,
                    "the batch's labels are not of the model's type, or not in the host's memory");
      return f.kind == Mismatch::none && takes;
    }
  }
  static ops::OutputLayout layout(const graph::Stage& s) {
    const auto image = s.image();
    return {image.c, image.h * image.w, s.cols()};
  }
  /// -> how many samples.
  template <class Images>
  [[gnu::noinline]] int check(const Images& images, const Labels& labels) const {
    const auto n = std::size_t(images.extent(0));
    if (n == 0) throw ArgumentError("a batch has at least 1 sample, got 0");
    check_labels(labels, n);
    if constexpr (!Model::Input::is_static) {
      const Dims d = model_.plan().input;
      const int want[] = {Model::Input::rank == 1 ? d.size() : d.c, d.h, d.w};
      for (int i = 0; i < Model::Input::rank; ++i)
        if (int(images.extent(i + 1)) != want[i])
          throw ShapeError(text(kern::detail::extent_text(kern::detail::extent_at(Model::Input::rank, i)),
                                " of the batch's samples: expected ", want[i], ", got ",
                                images.extent(i + 1)));
    }
    require_indices(images, int(n));
    return int(n);
  }
  void require_indices(const typename Model::Batch& images, int n) const {
    model_.executor().require_indices(images.data(), n);
  }
  /// Images on a device: indices of an embedding come to this program's memory to be looked at.
  template <class Images>
  void require_indices(const Images& images, int n) const {
    if constexpr (Executor::structure.stage[0].kind == graph::Kind::lookup)
      require_indices(typename Model::Batch(images.to(Host{})), n);
  }
  void check_labels(const std::span<const std::int32_t>& labels, std::size_t n) const {
    if (n != labels.size())
      throw ShapeError(text("labels of a batch: expected ", n, " (its samples), got ", labels.size()));
    const int classes = model_.plan().output().size();
    for (std::size_t i = 0; i < n; ++i)
      if ((labels[i] < 0 || labels[i] >= classes) && !loss_.ignores(labels[i]))
        throw DataError(
            text("label of sample ", i, " in the batch: expected 0 to ", classes - 1, ", got ", labels[i]));
  }
  template <class S>
  void check_labels(const TensorView<const T, S>& targets, std::size_t n) const {
    const Dims d = model_.plan().output();
    const int want[] = {int(n), d.flat ? d.size() : d.c, d.h, d.w};
    for (int i = 0; i < S::rank; ++i)
      if (targets.extent(i) != want[i])
        throw ShapeError(
            text(i == 0 ? "labels of a batch: expected "
                        : text(kern::detail::extent_text(kern::detail::extent_at(S::rank - 1, i - 1)),
                               " of a batch's labels: expected "),
                 want[i], i == 0 ? " (its samples)" : " (the net's output)", ", got ", targets.extent(i)));
    T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
    if constexpr (requires { Loss::least; }) least = T(Loss::least), most = T(Loss::most);
    const std::size_t size = std::size_t(d.size());
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (const T t = targets.data()[i]; !(t >= least && t <= most))
        throw DataError(text("value ", i % size, " of the label of sample ", i / size,
                             " in the batch: expected ", least, " to ", most, ", got ", t));
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
    refuse_parameters(what, steps_ == 0
                                ? " was not finite before the first step"
                                : " was not finite before this step: it was set so, or the step before "
                                  "was too large; a smaller learning rate may help");
    const int s = model_.executor().template first_not_finite<trained>(n);
    if (s < 0)
      throw NumericError(text(what, "all layers' outputs are finite, but ",
                              of_classes ? "too far apart" : "not what the loss makes of them"));
    const int layer = model_.plan().stage[std::size_t(s)].anchor;
    throw NumericError(
        text(what, "the first output that is not finite is that of layer ", layer, " (",
             nn::layer_paths<typename Model::Net>[std::size_t(layer)].text,
             steps_ == 0 ? "); samples or parameters are too large" : "); a smaller learning rate may help"));
  }
  template <class Images>
  [[noreturn, gnu::cold]] void refuse_evaluation(const Images& images, std::size_t before,
                                                 double loss) const {
    const std::string what = text("evaluate: the loss is ", std::isnan(loss) ? "nan" : "infinite",
                                  " in the batch that begins with sample ", before, "; ");
    refuse_pixels(images, what);
    refuse_parameters(what, steps_ == 0 ? " is not finite" : " is not finite: training diverged");
    if constexpr (!graph::buffer_slots<typename Model::Net>.empty())
      for (const std::string& name : Model::buffer_names())
        refuse_values(model_.buffer(name), name, what, " is not finite");
    throw NumericError(text(what, "all samples and parameters are finite, but some values too large"));
  }
  /// Throws if a parameter is not finite.
  [[gnu::cold]] void refuse_parameters(const std::string& what, const char* how) const {
    for (const std::string& name : Model::parameter_names())
      refuse_values(model_.parameter(name), name, what, how);
  }
  [[gnu::cold]] static void refuse_values(const std::vector<T>& values, const std::string& name,
                                          const std::string& what, const char* how) {
    for (const T v : values)
      if (!std::isfinite(v)) throw NumericError(text(what, "a value of ", name, how));
  }
  /// Throws if a pixel is not finite.
  [[gnu::cold]] void refuse_pixels(const typename Model::Batch& images, const std::string& what) const {
    for (std::size_t i = 0; i < images.size(); ++i)
      if (!std::isfinite(images.data()[i]))
        throw NumericError(text(what, "sample ", i / std::size_t(model_.plan().input.size()),
                                " of the batch has a ", Model::Input::rank == 1 ? "feature" : "pixel",
                                " that is not finite"));
  }
  template <class Images>
  [[gnu::cold]] void refuse_pixels(const Images& images, const std::string& what) const {
    refuse_pixels(typename Model::Batch(images.to(Host{})), what);
  }
  /// What evaluate() went through: all samples, and the weight that the loss is a mean over.
  struct Seen {
    std::size_t samples = 0;
    double weight = 0;
  };
  template <class Images, class... Metrics>
  void add(Evaluation& r, Seen& seen, const Images& images, const Labels& labels, Metrics&... metrics) {
    const auto alone = model_.executor().at_work();
    const int n = check(images, labels);
    Executor& e = model_.executor();
    const double of_batch = loss_.prepare(e.backend(), labels_of(labels), n);
    const T* z = e.infer(e.backend().samples_of(images), n);
    reserve(n);
    const graph::Stage& last = model_.plan().stage[std::size_t(Executor::stages - 1)];
    const ops::OutputLayout l = layout(last);
    const double loss =
        loss_(e.backend(), z, std::size_t(last.out_size()), n, l, static_cast<T*>(nullptr), each_.data());
    if (!std::isfinite(loss)) refuse_evaluation(images, seen.samples, loss);
    r.loss += loss_.reduction() == Reduction::mean ? of_batch * loss : loss;
    seen.samples += std::size_t(n);
    seen.weight += of_batch;
    z = e.backend().to_host(z, std::size_t(n) * std::size_t(last.out_size()));
    if constexpr (of_classes) {
      std::vector<T> scores;
      std::vector<std::int32_t> counted;
      for (int i = 0; i < n; ++i, z += last.out_size()) {
        const std::int32_t label = labels[std::size_t(i)];
        if (loss_.ignores(label)) continue;
        int best = 0;
        for (int j = 1; j < l.size(); ++j)
          if (z[l.at(j)] > z[l.at(best)]) best = j;
        r.accuracy += best == label;
        ++r.count;
        if constexpr (sizeof...(metrics) > 0) {
          for (int j = 0; j < l.size(); ++j) scores.push_back(z[l.at(j)]);
          counted.push_back(label);
        }
      }
      show(scores, l.size(), std::span<const std::int32_t>(counted), metrics...);
    } else {
      r.accuracy = std::numeric_limits<double>::quiet_NaN();
      r.count += std::size_t(n);
      std::vector<T> outputs;
      if constexpr (sizeof...(metrics) > 0)
        for (int i = 0; i < n; ++i, z += last.out_size())
          for (int j = 0; j < l.size(); ++j) outputs.push_back(z[l.at(j)]);
      show(outputs, l.size(), TensorView<const T, Shape<dyn, dyn>>(labels.data(), n, l.size()), metrics...);
    }
  }
  /// Outputs and what they should be, a row a sample, to each metric.
  template <class Wanted, class... Metrics>
  static void show(const std::vector<T>& outputs, int size, const Wanted& wanted, Metrics&... metrics) {
    [[maybe_unused]] const TensorView<const T, Shape<dyn, dyn>> rows(outputs.data(),
                                                                     int(outputs.size()) / size, size);
    (metrics.update(rows, wanted), ...);
  }

  using Memory = typename Backend::template Memory<T>;

  Model& model_;
  typename detail::LossAt<Loss, Backend, T>::type loss_;
  Optimizer optimizer_;
  typename Clip::template At<Backend> clip_;
  OptimizerState<Optimizer, Memory> state_;
  Memory each_;         // a batch's losses
  Memory accumulated_;  // the mean gradient of samples of such a weight together
  double accumulated_weight_ = 0;
  typename Backend::Recordings recordings_[3];  // of a step, of one that ends accumulation, of accumulate()
  std::int64_t steps_ = 0, batches_ = 0;
};

}  // namespace kern
