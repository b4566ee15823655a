// A net that can be run: its parameters, its memory, a backend.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../tensor/random.hpp"
#include "../tensor/tensor.hpp"
#include "backend_contract.hpp"
#include "executor.hpp"
#include "parameters.hpp"

namespace kern {

namespace detail {
/// The type of a plan's output: Shape<10>, Shape<C, H, W>. A function: as an alias it breaks g++ 12.
template <class Executor, bool Static>
constexpr auto output_shape() {
  constexpr Dims d = Executor::structure.output();
  if constexpr (Executor::structure.fault.kind != Mismatch::none)
    return Shape<0>{};  // most are flat: what reads it is no further error
  else if constexpr (!Static && d.flat)
    return Shape<dyn>{};
  else if constexpr (!Static)
    return Shape<dyn, dyn, dyn>{};
  else if constexpr (d.flat)
    return Shape<d.size()>{};
  else
    return Shape<d.c, d.h, d.w>{};
}
/// The first extent in which samples of shape Got differ from Want's, the first of which may be any.
template <class Want, class Got, int First, Mismatch Kind = Mismatch::batch_shape>
constexpr ShapeFault samples_fault() {
  if constexpr (Want::rank != Got::rank) {
    return {Kind, -1, Want::rank, Got::rank, ShapeExtent::dimensions};
  } else {
    for (std::size_t i = First; i < std::size_t(Want::rank); ++i)
      if (Want::extents[i] != Got::extents[i] && Want::extents[i] != dyn && Got::extents[i] != dyn)
        return {Kind, -1, Want::extents[i], Got::extents[i],
                kern::detail::extent_at(Want::rank - First, int(i) - First)};
    return {};
  }
}
template <class V>
concept IsTensor = requires {
  typename V::Extents;
  typename V::Element;
};
template <class S>
struct BatchOf;
template <int... E>
struct BatchOf<Shape<E...>> {
  using type = Shape<dyn, E...>;
};
}  // namespace detail

/// A net (nn::Sequential<...> or erase_shapes of one) for samples of shape In, with its parameters, on a
/// device. A net that does not fit its input does not compile; see core/mismatch.hpp for what the error says.
/// Initial parameters are PyTorch's distributions, drawn from `seed`. T: float or double. A model can't be
/// copied or moved, for trainers point to it (std::unique_ptr holds it elsewhere). It works in memory of its
/// own, so predict() is not const, and of two threads that use it at once one gets an Error.
template <class NetOrErased, class In, class Device = Host, class T = float>
class Model
    : graph::WithBackend<typename graph::Unerased<NetOrErased>::type, In, Device, T>,
      graph::Checked<
          typename graph::Unerased<NetOrErased>::type, In,
          typename graph::WithBackend<typename graph::Unerased<NetOrErased>::type, In, Device, T>::Backend> {
  using typename graph::WithBackend<typename graph::Unerased<NetOrErased>::type, In, Device, T>::Backend;

  template <FixedString Name>
  static constexpr auto shape_of_parameter() {
    using N = typename graph::Unerased<NetOrErased>::type;
    (void)sizeof(graph::ParameterCalled<N, Name>);
    constexpr int i = graph::find_parameter<N>(Name.view());
    if constexpr (i < 0) {
      return Shape<0>{};
    } else {
      constexpr nn::Parameter p = graph::parameter_slots<N>[std::size_t(i)].parameter;
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Shape<p.shape[I]...>{};
      }(std::make_index_sequence<std::size_t(p.rank)>{});
    }
  }

 public:
  using Net = typename graph::Unerased<NetOrErased>::type;
  using Input = In;
  using Element = T;
  using Executor = graph::Executor<Net, In, graph::Unerased<NetOrErased>::erased, Backend, T>;
  static constexpr bool erased = graph::Unerased<NetOrErased>::erased;
  static_assert(erased || In::is_static, "an Input with dyn extents needs erase_shapes<Net>");
  static_assert(sizeof(graph::UniqueNames<Net>) && sizeof(graph::WholeNames<Net>));

  /// A sample of the output: Shape<10>, Shape<C, H, W>; dyn extents if the input's are.
  using Output = decltype(detail::output_shape<Executor, In::is_static>());
  using Sample = TensorView<const T, typename In::Sample>;
  using Batch = TensorView<const T, typename In::Batch>;
  /// What a Trainer also takes: a batch where the model is.
  using BatchOnDevice =
      std::conditional_t<std::is_same_v<typename Backend::template Memory<T>, host::Buffer<T>>, Batch,
                         TensorView<const T, typename In::Batch, Device>>;

  explicit Model(Seed seed = {}, const Device& device = {})
    requires(In::is_static)
      : Model(In::dims, seed, device, 0) {}
  /// With the sizes of a sample, where In does not have them. Throws ShapeError if they don't fit In or the
  /// net.
  explicit Model(Dims input, Seed seed = {}, const Device& device = {})
    requires(!In::is_static)
      : Model(run_time_dims(input), seed, device, 0) {}

  /// The net's outputs for a batch, dropout off.
  auto predict(const Batch& samples) {
    const auto alone = executor_.at_work();
    const int n = int(samples.extent(0));
    Tensor<T, typename detail::BatchOf<Output>::type> out =
        make_output<typename detail::BatchOf<Output>::type>(n);
    if (n > 0) read_output(executor_.infer(checked(samples), n), n, out.data());
    return out;
  }
  /// The same for one sample.
  auto predict(const Sample& sample) {
    const auto alone = executor_.at_work();
    Tensor<T, Output> out = make_output<Output>();
    read_output(executor_.infer(checked(sample), 1), 1, out.data());
    return out;
  }
  /// Samples that the model can't take don't compile.
  template <detail::IsTensor Other>
    requires(!std::is_convertible_v<const Other&, Batch> && !std::is_convertible_v<const Other&, Sample>)
  auto predict(const Other&) {
    constexpr bool one = Other::Extents::rank == Sample::rank;
    using Want = typename std::conditional_t<one, Sample, Batch>::Extents;
    constexpr ShapeFault f = detail::samples_fault<Want, typename Other::Extents, !one>();
    (void)sizeof(graph::Refused<f, detail::Text<1>{}, graph::BothShapes<Want, typename Other::Extents>>);
    if constexpr (f.kind == Mismatch::none) {
      constexpr bool same_type = std::is_same_v<std::remove_const_t<typename Other::Element>, T>;
      constexpr bool here = std::is_constructible_v<std::conditional_t<one, Sample, Batch>, const Other&>;
      static_assert(same_type, "predict: the elements of the samples are not of the model's type");
      static_assert(!same_type || here, "predict: samples come from the host's memory: samples.to(Host{})");
      static_assert(!same_type || !here,
                    "predict: whether these samples fit is known at run time only: Batch(samples) checks");
    }
    return Tensor<T, typename detail::BatchOf<Output>::type>();
  }
  /// The number of the largest output for one sample; NaN counts as the largest.
  int classify(const Sample& sample) {
    const auto out = predict(sample);
    const auto less = [](T a, T b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    return int(std::max_element(out.data(), out.data() + out.size(), less) - out.data());
  }

  /// The shape of the parameter called Name: Shape<16, 1, 3, 3>.
  template <FixedString Name>
  using ParameterShape = decltype(shape_of_parameter<Name>());

  /// A copy of a parameter, by PyTorch's name and in its layout: parameter<"conv1.weight">(). Unknown names
  /// don't compile.
  template <FixedString Name>
  auto parameter() const {
    return read<ParameterShape<Name>>(executor_.parameters(), Name.view());
  }
  /// A copy of its gradient, after a training step.
  template <FixedString Name>
  auto gradient() const {
    require_gradients();
    return read<ParameterShape<Name>>(executor_.gradients(), Name.view());
  }
  /// Sets a parameter.
  template <FixedString Name>
  void set_parameter(const TensorView<const T, ParameterShape<Name>>& values) {
    set_parameter(Name.view(), values.data(), std::size_t(values.size()));
  }
  /// What it can't be set to doesn't compile.
  template <FixedString Name, detail::IsTensor Other>
    requires(!std::is_convertible_v<const Other&, TensorView<const T, ParameterShape<Name>>>)
  void set_parameter(const Other&) {
    (void)sizeof(graph::ParameterShaped<named<Name>, ParameterShape<Name>, typename Other::Extents>);
    constexpr bool fits = detail::may_be<typename Other::Extents, ParameterShape<Name>>();
    constexpr bool same_type = std::is_same_v<std::remove_const_t<typename Other::Element>, T>;
    static_assert(!fits || same_type, "set_parameter: the values are not of the model's type");
    static_assert(!fits || !same_type || Other::Extents::is_static,
                  "set_parameter: whether this shape fits is known at run time only: "
                  "set_parameter(name, data, count) checks");
    static_assert(!fits || !same_type || !Other::Extents::is_static,
                  "set_parameter: values come from the host's memory: values.to(Host{})");
  }

  /// Every parameter's name, in order.
  static std::vector<std::string> parameter_names() {
    std::vector<std::string> names;
    for (const auto& s : graph::parameter_slots<Net>) names.emplace_back(s.name.text, s.name.size);
    return names;
  }
  /// A parameter's shape in PyTorch's layout, by name at run time. Throws ArgumentError for an unknown name,
  /// with the nearest that there are.
  static std::vector<int> parameter_shape(std::string_view name) {
    const auto& p = slot(name).parameter;
    return {p.shape.begin(), p.shape.begin() + p.rank};
  }
  /// Its values, flat. The same errors.
  std::vector<T> parameter(std::string_view name) const { return values(executor_.parameters(), slot(name)); }
  std::vector<T> gradient(std::string_view name) const {
    require_gradients();
    return values(executor_.gradients(), slot(name));
  }
  /// A copy as a tensor: parameter<Shape<dyn, dyn>>("fc.weight"). Throws also ShapeError if the parameter's
  /// shape can't be an S.
  template <class S>
  Tensor<T, S> parameter(std::string_view name) const {
    return shaped<S>("parameter", executor_.parameters(), slot(name));
  }
  template <class S>
  Tensor<T, S> gradient(std::string_view name) const {
    require_gradients();
    return shaped<S>("gradient", executor_.gradients(), slot(name));
  }
  /// Sets a parameter to a tensor of its shape. Throws also ShapeError if the tensor has another; nothing
  /// changes then.
  template <detail::IsTensor Values>
  void set_parameter(std::string_view name, const Values& values) {
    constexpr bool same_type = std::is_same_v<std::remove_const_t<typename Values::Element>, T>;
    constexpr bool here = requires { TensorView<const T, typename Values::Extents>(values); };
    static_assert(same_type, "set_parameter: the values are not of the model's type");
    static_assert(!same_type || here, "set_parameter: values come from the host's memory: values.to(Host{})");
    if constexpr (same_type && here) {
      graph::require_shape(slot(name), "set_parameter", values.shape());
      set_parameter(name, values.data(), values.size());
    }
  }
  /// Sets it. Throws also ShapeError if `count` is not the parameter's size; nothing changes then.
  void set_parameter(std::string_view name, const T* data, std::size_t count) {
    const graph::ParameterSlot& s = slot(name);
    if (count != std::size_t(s.parameter.size()))
      throw ShapeError(
          text("set_parameter(\"", name, "\"): expected ", s.parameter.size(), " values, got ", count));
    write(s, [&](std::size_t i) { return data[i]; });
  }
  void set_parameter(std::string_view name, const std::vector<T>& v) {
    set_parameter(name, v.data(), v.size());
  }

  /// What layers keep beside their parameters and don't train, by PyTorch's names: "bn1.running_mean". Errors
  /// as for parameters.
  static std::vector<std::string> buffer_names() {
    std::vector<std::string> names;
    for (const auto& s : graph::buffer_slots<Net>) names.emplace_back(s.name.text, s.name.size);
    return names;
  }
  static std::vector<int> buffer_shape(std::string_view name) {
    const auto& p = buffer_slot(name).parameter;
    return {p.shape.begin(), p.shape.begin() + p.rank};
  }
  std::vector<T> buffer(std::string_view name) const {
    const graph::ParameterSlot& s = buffer_slot(name);
    std::vector<T> v(std::size_t(s.parameter.size()));
    const T* const from = executor_.buffers_on_host();
    graph::each_buffer_element(s, norm_of(s),
                               [&](std::size_t i, std::size_t stored) { v[i] = from[stored]; });
    return v;
  }
  void set_buffer(std::string_view name, const std::vector<T>& v) {
    const graph::ParameterSlot& s = buffer_slot(name);
    if (v.size() != s.parameter.size())
      throw ShapeError(
          text("set_buffer(\"", name, "\"): expected ", s.parameter.size(), " values, got ", v.size()));
    write_buffer(s, [&](std::size_t i) { return v[i]; });
  }

  /// For checkpoints (io/checkpoint.hpp): parameters and buffers.
  template <class Visitor>
  void state(Visitor& v) {
    v.fixed("model.seed", seed_.value);
    state(v, "model.", executor_.parameters());
    v.tensors(
        "model.", shapes_of(graph::buffer_slots<Net>),
        [this] {
          std::vector<std::vector<T>> all;
          for (const std::string& name : buffer_names()) all.push_back(buffer(name));
          return all;
        },
        [this](const std::vector<std::vector<T>>& all) {
          std::size_t i = 0;
          for (const std::string& name : buffer_names()) set_buffer(name, all[i++]);
        });
  }
  /// The same for what lies as the parameters do: a tensor for each of them, in PyTorch's layout. `stored`
  /// may be empty: that is zeros.
  template <class Visitor>
  void state(Visitor& v, const std::string& prefix, typename Executor::Parameters& stored) {
    const auto room = std::make_shared<typename Executor::Parameters>();  // before anything changes
    if (stored.size() == 0) *room = executor_.backend().template allocate<T>(plan().stored);
    v.tensors(
        prefix, shapes_of(graph::parameter_slots<Net>),
        [this, &stored] {
          std::vector<std::vector<T>> all;
          for (const auto& s : graph::parameter_slots<Net>) all.push_back(values(stored, s));
          return all;
        },
        [this, &stored, room](const std::vector<std::vector<T>>& all) {
          if (stored.size() == 0) stored = std::move(*room);
          executor_.backend().edit(stored.data(), stored.size(), [&](T* to) {
            std::size_t k = 0;
            for (const auto& s : graph::parameter_slots<Net>) {
              const std::vector<T>& from = all[k++];
              graph::each_element(s, stage_of(s), [&](std::size_t i, std::size_t at) { to[at] = from[i]; });
            }
          });
          executor_.parameters_changed();
        });
  }

  Seed seed() const { return seed_; }
  /// Worker threads, the caller among them.
  int threads() const { return executor_.backend().threads(); }
  /// For trainers and tools.
  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  const auto& plan() const { return executor_.plan(); }
  /// Where a parameter lies among executor().parameters(), with its padding: [first, last).
  std::pair<std::size_t, std::size_t> stored(std::string_view name) const {
    const graph::ParameterSlot& s = slot(name);
    return graph::stored_range(s, stage_of(s));
  }

  /// n samples of the last stage's stored output into PyTorch's layout.
  void read_output(const T* stored, int n, T* out) const {
    const graph::Stage& last = plan().stage[std::size_t(Executor::stages - 1)];
    const Dims d = plan().output();
    stored = executor_.backend().to_host(stored, std::size_t(n) * std::size_t(last.out_size()));
    for (int s = 0; s < n; ++s, stored += last.out_size(), out += d.size())
      for (int c = 0; c < d.c; ++c)
        for (int p = 0; p < d.h * d.w; ++p) out[c * d.h * d.w + p] = stored[p * last.cols() + c];
  }

 private:
  /// `input` as a sample of In, flat or not; throws ShapeError where it can't be one.
  static Dims run_time_dims(Dims input) {
    input.flat = In::rank == 1;
    if (input.flat) {
      const double features = double(input.c) * input.h * input.w;
      if (features > std::numeric_limits<int>::max())
        throw ShapeError(text("features of the model's input: expected at most 2147483647, got ", features));
      input = {input.size(), 1, 1, true};
    }
    const int got[] = {input.c, input.h, input.w}, want[] = {In::dims.c, In::dims.h, In::dims.w};
    for (int i = 0; i < In::rank; ++i)
      if (got[i] < 1 || (want[i] != dyn && want[i] != got[i]))
        throw ShapeError(text(kern::detail::extent_text(kern::detail::extent_at(In::rank, i)),
                              " of the model's input: expected ",
                              want[i] == dyn ? "at least 1" : text(want[i]), ", got ", got[i]));
    return input;
  }

  // cold, here and elsewhere: what runs once or fails is compiled for size, which takes the compiler half the
  // time
  [[gnu::cold]] Model(Dims input, Seed seed, const Device& device, int)
      : executor_(input, device), seed_(seed) {
    std::uint32_t number = 0;
    for (const auto& s : graph::buffer_slots<Net>)
      write_buffer(s, [&](std::size_t) { return T(s.parameter.initial == nn::Initial::one); });
    for (const auto& s : graph::parameter_slots<Net>) {
      const double bound = 1 / std::sqrt(double(s.parameter.fan_in));
      write(s, [&](std::size_t i) {
        if constexpr (graph::begins_normal<Net>)
          if (s.parameter.initial == nn::Initial::normal) return normal(s, seed, number, i);
        if (s.parameter.initial != nn::Initial::uniform) return T(s.parameter.initial == nn::Initial::one);
        const auto r = rng::draw(seed, rng::Stream::init, number, 0, std::uint32_t(i / 4))[i % 4];
        return T((2 * double(rng::uniform(r)) - 1) * bound);
      });
      ++number;
    }
  }

  /// Element i of parameter `number`, one of N(0, 1); 0 in the row that begins so.
  static T normal(const graph::ParameterSlot& s, Seed seed, std::uint32_t number, std::size_t i) {
    if (i / std::size_t(s.parameter.shape[1]) == std::size_t(s.parameter.zero_row)) return T(0);
    return T(detail::normal_of(rng::draw(seed, rng::Stream::init, number, 0, std::uint32_t(i / 4)))[i % 4]);
  }

  template <class S>
  Tensor<T, S> make_output(int n = 0) const {
    const Dims d = plan().output();
    if constexpr (In::is_static && S::is_static)
      return Tensor<T, S>();
    else if constexpr (In::is_static)
      return Tensor<T, S>(n);
    else if constexpr (S::rank == 1)
      return Tensor<T, S>(d.size());
    else if constexpr (S::rank == 2)
      return Tensor<T, S>(n, d.size());
    else if constexpr (S::rank == 3)
      return Tensor<T, S>(d.c, d.h, d.w);
    else
      return Tensor<T, S>(n, d.c, d.h, d.w);
  }
  template <class View>
  const T* checked(const View& v) const {
    if constexpr (!In::is_static) {
      constexpr int first = View::rank - In::rank;
      const Dims d = plan().input;
      const int want[] = {In::rank == 1 ? d.size() : d.c, d.h, d.w};
      for (int i = 0; i < In::rank; ++i)
        if (int(v.extent(first + i)) != want[i])
          throw ShapeError(text(kern::detail::extent_text(kern::detail::extent_at(In::rank, i)),
                                " of the samples: expected ", want[i], ", got ", v.extent(first + i)));
    }
    constexpr bool batch = View::rank > In::rank;
    executor_.require_indices(v.data(), batch ? int(v.extent(0)) : 1);
    return v.data();
  }

  template <class Slots>
  static std::vector<std::pair<std::string, std::vector<int>>> shapes_of(const Slots& slots) {
    std::vector<std::pair<std::string, std::vector<int>>> all;
    for (const graph::ParameterSlot& s : slots)
      all.push_back({{s.name.text, s.name.size},
                     {s.parameter.shape.begin(), s.parameter.shape.begin() + s.parameter.rank}});
    return all;
  }
  static const graph::ParameterSlot& slot(std::string_view name) {
    return graph::slot_called(graph::parameter_slots<Net>, "parameter", name);
  }
  const graph::Stage& stage_of(const graph::ParameterSlot& s) const {
    int i = 0;
    while (plan().stage[std::size_t(i)].anchor != s.layer || !plan().stage[std::size_t(i)].has_parameters())
      ++i;
    return plan().stage[std::size_t(i)];
  }
  static const graph::ParameterSlot& buffer_slot(std::string_view name) {
    return graph::slot_called(graph::buffer_slots<Net>, "buffer", name);
  }
  const graph::Stage& norm_of(const graph::ParameterSlot& s) const {
    int i = 0;
    while (plan().stage[std::size_t(i)].anchor != s.layer ||
           plan().stage[std::size_t(i)].kind != graph::Kind::norm)
      ++i;
    return plan().stage[std::size_t(i)];
  }
  template <class F>
  void write_buffer(const graph::ParameterSlot& s, F value) {
    executor_.edit_buffers([&](T* all) {
      graph::each_buffer_element(s, norm_of(s),
                                 [&](std::size_t i, std::size_t stored) { all[stored] = value(i); });
    });
  }
  using Stored = typename Executor::Parameters;
  template <class S>
  Tensor<T, S> read(const Stored& all, std::string_view name) const {
    Tensor<T, S> t;
    read(all, slot(name), t.data());
    return t;
  }
  template <class S>
  Tensor<T, S> shaped(const char* call, const Stored& all, const graph::ParameterSlot& s) const {
    graph::require_shape(s, call, S::extents);
    std::array<int, std::size_t(S::rank)> extents{};
    std::copy_n(s.parameter.shape.begin(), S::rank, extents.begin());
    const std::vector<T> v = values(all, s);
    return TensorView<const T, S>(v.data(), detail::Extents<S>(extents, nullptr)).clone();
  }
  std::vector<T> values(const Stored& all, const graph::ParameterSlot& s) const {
    std::vector<T> v(std::size_t(s.parameter.size()));
    read(all, s, v.data());
    return v;
  }
  /// Of what lies as the parameters do, in PyTorch's layout. Nothing else is fetched.
  void read(const Stored& all, const graph::ParameterSlot& s, T* to) const {
    const auto range = graph::stored_range(s, stage_of(s));
    const T* const from = executor_.backend().to_host(all.data() + range.first, range.second - range.first);
    graph::each_element(s, stage_of(s),
                        [&](std::size_t i, std::size_t at) { to[i] = from[at - range.first]; });
  }
  template <class F>
  void write(const graph::ParameterSlot& s, F value) {
    const auto range = graph::stored_range(s, stage_of(s));
    executor_.edit_parameters(range.first, range.second, [&](T* to) {
      graph::each_element(s, stage_of(s),
                          [&](std::size_t i, std::size_t at) { to[at - range.first] = value(i); });
    });
  }
  void require_gradients() const {
    if (!executor_.has_gradients())
      throw ArgumentError("there are no gradients before the first training step");
  }

  Executor executor_;
  Seed seed_;
};

}  // namespace kern
