// Finds where two backends part: the same net trained on both, side by side. Not in kern.hpp: for those who
// look for a fault.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer.hpp"

namespace kern {

/// The first number that two models don't agree on.
struct Divergence {
  std::int64_t step = 0;  ///< 1: the first
  std::string what;       ///< "conv1.weight", "gradient of conv1.weight", "output of layer 2 (conv2)", "loss"
  std::vector<int> index;  ///< in PyTorch's layout; of an output the sample comes first
  double first = 0, second = 0;
  double bound = 0;  ///< how far apart they may be

  /// "step 2: gradient of fc1.bias, element (3): 0.25 and 0.375, expected within 1e-05".
  std::string text() const {
    std::string place;
    for (const int i : index) place += kern::text(place.empty() ? ", element (" : ", ", i);
    return kern::text("step ", step, ": ", what, place, place.empty() ? ": " : "): ", digits(first), " and ",
                      digits(second), ", expected within ", bound);
  }

 private:
  /// All that a float has.
  static std::string digits(double x) {
    char d[32];
    return {d, std::to_chars(d, d + sizeof d, x, std::chars_format::general, 9).ptr};
  }
};

/// Two models of one net and one seed, as a rule on two devices, take the same steps; b begins with a's
/// parameters. Each step() compares, in this order: parameters, the output of every stage that both have,
/// predictions, the loss, gradients from the last layer to the first, and parameters after the update.
/// Numbers agree that are at most `tolerance` times the largest magnitude in their tensor apart. Roundings
/// may let another input win a max-pool: a gradient then differs in single elements though neither side is
/// wrong.
template <class A, class B, class Loss, class Optimizer>
class Twins {
  using Net = typename A::Net;
  using T = typename A::Element;
  static_assert(std::is_same_v<Net, typename B::Net>, "twins are of one net");
  static_assert(std::is_same_v<typename A::Batch, typename B::Batch>, "twins take the same samples");

 public:
  /// The models must outlive it. Throws ArgumentError where their seeds differ: their dropout would.
  Twins(A& a, B& b, Loss loss, Optimizer optimizer, double tolerance = 1e-4)
      : a_(a), b_(b), on_a_(a, loss, optimizer), on_b_(b, loss, optimizer), tolerance_(tolerance) {
    if (a.seed().value != b.seed().value)
      throw ArgumentError(text("twins have one seed: expected ", a.seed().value, ", got ", b.seed().value));
    for (const std::string& name : A::parameter_names()) b.set_parameter(name, a.parameter(name));
  }

  /// Both train on the batch. -> where they part, if they do. Throws as Trainer::step.
  template <class Samples>
  std::optional<Divergence> step(const Samples& batch) {
    return step(typename A::Batch(batch.images), batch.labels);
  }
  std::optional<Divergence> step(const typename A::Batch& images,
                                 const typename Trainer<A, Loss, Optimizer>::Labels& labels) {
    step_ = on_a_.steps() + 1;
    if (auto d = parameters()) return d;
    const auto p = a_.predict(images), q = b_.predict(images);  // refuse what is no batch
    if (auto d = outputs(images, std::make_integer_sequence<int, A::Executor::stages>{})) return d;
    if (auto d = part("prediction", shape_of(a_.plan().output()), p.data(), q.data(), p.size())) return d;
    const T first = on_a_.step(images, labels), second = on_b_.step(images, labels);
    if (auto d = part("loss", {}, &first, &second, 1)) return d;
    const auto names = A::parameter_names();
    for (auto name = names.rbegin(); name != names.rend(); ++name)
      if (auto d = part(text("gradient of ", *name), A::parameter_shape(*name), a_.gradient(*name),
                        b_.gradient(*name)))
        return d;
    return parameters();
  }

 private:
  std::optional<Divergence> parameters() const {
    for (const std::string& name : A::parameter_names())
      if (auto d = part(name, A::parameter_shape(name), a_.parameter(name), b_.parameter(name))) return d;
    return {};
  }
  template <int... I>
  std::optional<Divergence> outputs(const typename A::Batch& images, std::integer_sequence<int, I...>) {
    std::optional<Divergence> d;
    (void)((d = output<I>(images)).has_value() || ...);
    return d;
  }
  /// The stage of b that ends before layer `last`, or -1.
  static constexpr int stage_of_b(int last) {
    for (int j = 0; j < B::Executor::stages; ++j)
      if (const graph::Stage& s = B::Executor::structure.stage[std::size_t(j)];
          s.last == last && !s.is_copy())
        return j;
    return -1;
  }
  /// Stage I of a, and that of b which ends with the same layer.
  template <int I>
  std::optional<Divergence> output(const typename A::Batch& images) {
    constexpr graph::Stage s = A::Executor::structure.stage[std::size_t(I)];
    constexpr int other = s.is_copy() ? -1 : stage_of_b(s.last);
    if constexpr (other < 0) {
      return {};
    } else {
      const std::string_view name = nn::layer_paths<Net>[std::size_t(s.anchor)].text;
      const std::string rest = s.last - 1 > s.anchor ? text(" to ", s.last - 1) : "";
      return part(text("output of layer", rest.empty() ? " " : "s ", s.anchor, " (", name, ")", rest),
                  shape_of(a_.plan().dims[std::size_t(s.last - 1)]), output_of<I>(a_, images),
                  output_of<other>(b_, images));
    }
  }
  /// What stage I of a model makes of the samples in the step to come, in PyTorch's layout.
  template <int I, class Model>
  std::vector<T> output_of(Model& model, const typename A::Batch& images) const {
    const int n = int(images.extent(0));
    auto& e = model.executor();
    const T* stored = e.template forward<I + 1>(images.data(), n,
                                                ops::Draw{model.seed(), std::uint32_t(on_a_.steps()), true});
    const graph::Stage& s = model.plan().stage[std::size_t(I)];
    stored = e.backend().to_host(stored, std::size_t(n) * std::size_t(s.out_size()));
    std::vector<T> out;
    const auto image = s.image();
    for (int i = 0; i < n; ++i, stored += s.out_size())
      for (int k = 0; k < image.c; ++k)
        for (int y = 0; y < image.h; ++y)
          for (int x = 0; x < image.w; ++x) out.push_back(stored[image.at(k, y * image.w + x)]);
    return out;
  }

  /// Of a batch of these; how many there are is never asked.
  static std::vector<int> shape_of(Dims d) {
    return d.flat ? std::vector{0, d.size()} : std::vector{0, d.c, d.h, d.w};
  }
  std::optional<Divergence> part(const std::string& what, const std::vector<int>& shape,
                                 const std::vector<T>& a, const std::vector<T>& b) const {
    return part(what, shape, a.data(), b.data(), a.size());
  }
  std::optional<Divergence> part(const std::string& what, const std::vector<int>& shape, const T* a,
                                 const T* b, std::size_t n) const {
    double most = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (const T v : {a[i], b[i]})
        if (std::isfinite(v)) most = std::max(most, std::abs(double(v)));
    const double bound = tolerance_ * most;
    for (std::size_t i = 0; i < n; ++i) {
      const bool agree =
          a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(double(a[i]) - b[i]) <= bound;
      if (!agree) return Divergence{step_, what, place(shape, i), double(a[i]), double(b[i]), bound};
    }
    return {};
  }
  static std::vector<int> place(std::vector<int> shape, std::size_t at) {
    for (std::size_t k = shape.size(); k-- > 1;) {
      const auto extent = std::size_t(shape[k]);
      shape[k] = int(at % extent);
      at /= extent;
    }
    if (!shape.empty()) shape[0] = int(at);
    return shape;
  }

  A& a_;
  B& b_;
  Trainer<A, Loss, Optimizer> on_a_;
  Trainer<B, Loss, Optimizer> on_b_;
  double tolerance_;
  std::int64_t step_ = 0;
};

}  // namespace kern
