// What a backend has to have (docs/architecture.md says what each part is for), so that one that lacks a part
// is refused by name:
//   error: ... 'backend_lacks<mine::Backend<float>, part::gather>'
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../core/known.hpp"
#include "../core/stage.hpp"
#include "../host/backend.hpp"
#include "../nn/sequential.hpp"
#include "../ops/batch_norm.hpp"
#include "../ops/chain.hpp"
#include "../tensor/view.hpp"

namespace kern {

/// The words of a compile error, never defined: Backend has no Part, or none that takes what Contract below
/// hands it.
template <class Backend, class Part>
struct backend_lacks;
/// Nor these: a Model's second argument is no Input<...>, its third no Host or Cuda.
template <class Got>
struct model_needs_an_Input_behind_its_net;
template <class Got>
struct model_needs_a_device_behind_its_input;

namespace graph {

/// Names for the compile error: a namespace of its own, not among those that programs use.
namespace part {
struct constructor_from_its_device;
struct threads;
struct channel_multiple;
struct fuses_pool;
struct whole_batches;
struct takes_back_below;
struct Memory;
struct allocate;
struct zero;
struct to_host;
struct edit;
struct targets;
struct samples_of;
struct load;
struct scratch_size;
struct forward_size;
struct backward_size;
struct partial_size;
struct reserve;
struct prepare_forward;
struct prepare_backward;
struct chunks;
struct forward;
struct backward;
struct undo;
struct join_backward;
struct add;
struct norm_chunk;
struct norm_parts;
struct norm_measure;
struct norm_sums;
struct norm_backward;
struct each;
struct each_if_finite;
struct gather;
struct finish_gather;
struct mean;
struct apply;
struct set_update;
struct begin;
struct update;
struct reduce_size;
struct reduce;
struct Recordings;
struct step;
}  // namespace part

namespace detail {
template <class Layers, nn::Lowering Kind>
inline constexpr bool any_of = false;
template <class... L, nn::Lowering Kind>
inline constexpr bool any_of<std::tuple<L...>, Kind> = ((L::lowers_to == Kind) || ...);
}  // namespace detail
/// Net has layers of that kind.
template <class Net, nn::Lowering Kind>
inline constexpr bool has_layers = detail::any_of<nn::flat_layers<Net>, Kind>;

/// How each part of B, a backend for elements T on a Device, is used. Batch: a view of samples. Norms: also
/// those for nets with a batch normalisation; Joins: with branches.
template <class B, class Device, class T, bool Norms = false, bool Joins = false,
          class Batch = TensorView<const T, Shape<dyn, 4>>>
class Contract {
  struct Function {
    template <class... A>
    double operator()(const A&...) const;
  };
  struct Op {
    static constexpr int results = 1;
    template <class... A>
    void operator()(A&...) const;
    double term(double) const;
    double join(double, double) const;
    void finish(double, double*) const;
  };
  using D = Known<Contraction{3, 3, 4, 3, 3, 4, 4, 1, 1, 1, 1, 0, 0}>;
  using N = Known<Norm{1, 1, 4, 4, 0, 0, 0}>;
  using J = Known<Join{1, 1, 4, 4, 0, 0, join_sum, {4, 1, 1, 4, 0, 0}, {4, 1, 1, 4, 0, 0}}>;
  // Things to call with; only named in requires-expressions, so never defined.
  static B& b;
  static const B& constant;
  static T* p;
  static const T* q;
  static double* results;
  static const Batch& batch;
  static std::size_t n;
  static int i;
  static Slice s;
  static ops::Draw draw;
  static D d;
  static N norm;
  static J join;
  static Function f;
  static Op op;
  static ops::Chain<> chain;
  static ops::NormState<T> state;

  template <class Part, bool Kept>
  struct Has;
  template <class...>
  struct List;
  // clang-format off
  using Parts = List<
    Has<part::constructor_from_its_device, std::is_constructible_v<B, const Device&>>,
    Has<part::threads, requires { int(constant.threads()); }>,
    Has<part::channel_multiple, requires { int(B::channel_multiple); }>,
    Has<part::fuses_pool, requires { bool(B::fuses_pool(i, i)); }>,
    Has<part::whole_batches, requires { bool(B::whole_batches); }>,
    Has<part::takes_back_below, requires { bool(B::takes_back_below); }>,
    Has<part::Memory, requires(typename B::template Memory<T> m) { m.data(); m.size(); }>,
    Has<part::allocate, requires { b.template allocate<T>(n); }>,
    Has<part::zero, (requires { requires B::whole_batches; } || requires { b.zero(p, n); })>,
    Has<part::to_host, requires { constant.to_host(q, n); }>,
    Has<part::edit, requires { b.edit(p, n, f); }>,
    Has<part::targets, requires { b.targets(std::span<const T>()); b.targets(std::span<const std::int32_t>()); }>,
    Has<part::samples_of, requires { b.samples_of(batch); }>,
    Has<part::load, requires { b.load(Entry{}, q, p, i); }>,
    Has<part::scratch_size, requires { std::size_t(B::scratch_size(d.get(), i)); }>,
    Has<part::forward_size, requires { std::size_t(B::forward_size(d.get())); }>,
    Has<part::backward_size, requires { std::size_t(B::backward_size(d.get())); }>,
    Has<part::partial_size, requires { std::size_t(B::partial_size(d.get())); }>,
    Has<part::reserve, requires { b.reserve(n); }>,
    Has<part::prepare_forward, requires { b.prepare_forward(d, q, p); }>,
    Has<part::prepare_backward, requires { b.prepare_backward(d, q, p); }>,
    Has<part::chunks, requires { b.chunks(i, i, f); }>,
    Has<part::forward, requires { b.forward(s, d, ForwardPass<T>{}, chain, draw); }>,
    Has<part::backward, requires { b.template backward<true>(s, d, BackwardPass<T>{}, chain, NoBelow{}, draw); }>,
    Has<part::undo, (requires { requires !B::takes_back_below && !Joins; } || requires { b.undo(s, d, q, p, chain, draw); })>,
    Has<part::join_backward, (!Joins || requires { b.template join_backward<1>(s, join, q, q, p, NoBelow{}, draw); })>,
    Has<part::add, (!Joins || requires { b.add(s, StoredImage{}, q, p); })>,
    Has<part::norm_chunk, (!Norms || requires { int(B::norm_chunk(i, i)); })>,
    Has<part::norm_parts, (!Norms || requires { int(B::norm_parts(i, i)); })>,
    Has<part::norm_measure, (!Norms || requires { b.norm_measure(s, norm, q, p, i); })>,
    Has<part::norm_sums, (!Norms || requires { b.norm_sums(s, norm, q, state, p, p, i, chain, draw); })>,
    Has<part::norm_backward, (!Norms || requires { b.norm_backward(s, norm, q, state, q, p, NoBelow{}, draw); })>,
    Has<part::each, requires { b.each(i, f); }>,
    Has<part::each_if_finite, requires { b.each_if_finite(i, f); }>,
    Has<part::gather, requires { b.gather(d, q, n, i, p, p); }>,
    Has<part::finish_gather, requires { b.finish_gather(); }>,
    Has<part::mean, requires { double(b.mean(i, f, q)); }>,
    Has<part::apply, requires { b.apply(n, op, p, q, p, p); }>,
    Has<part::set_update, requires { b.set_update(i, op); }>,
    Has<part::begin, requires { b.begin(draw); }>,
    Has<part::update, requires { b.update(i, n, op, p, q, p, p); }>,
    Has<part::reduce_size, requires { std::size_t(B::reduce_size(n)); }>,
    Has<part::reduce, requires { b.reduce(n, op, q, results); }>,
    Has<part::Recordings, requires { typename B::Recordings; }>,
    Has<part::step, requires(typename B::Recordings r) { double(b.step(r, i, f, f)); }>>;
  // clang-format on
  template <class... Part, bool... Kept>
  static constexpr bool all(List<Has<Part, Kept>...>*) {
    return (Kept && ...);
  }
  template <class Part, bool Kept, class... Rest>
  static auto first_lacking(List<Has<Part, Kept>, Rest...>*) {
    if constexpr (Kept)
      return first_lacking(static_cast<List<Rest...>*>(nullptr));
    else
      return static_cast<backend_lacks<B, Part>*>(nullptr);
  }

 public:
  static constexpr bool kept = all(static_cast<Parts*>(nullptr));
  /// A pointer to backend_lacks<B, the first part that it lacks>, or to char. Never called.
  static auto lacking() {
    if constexpr (kept)
      return static_cast<char*>(nullptr);
    else
      return first_lacking(static_cast<Parts*>(nullptr));
  }
};

/// B is a backend for elements T on a Device, for nets without batch normalisations and branches.
template <class B, class Device, class T>
concept IsBackend = Contract<B, Device, T>::kept;

/// In the place of a backend that was refused, so that this is the only error.
template <class T>
struct NoBackend : host::Backend<T> {
  template <class Device>
  explicit NoBackend(const Device&) : host::Backend<T>(Host{}) {}
};

template <class In>
inline constexpr bool is_input = requires {
  typename In::Sample;
  In::dims;
};
template <class Device, class T>
concept IsDevice = requires { typename Device::template Backend<T>; };

/// Refuses to be a base class where Device's backend lacks a part that Net needs.
template <class Net, class In, class Device, class T>
struct WithBackend {
  static_assert(sizeof(std::conditional_t<is_input<In>, char, model_needs_an_Input_behind_its_net<In>>));
  static_assert(
      sizeof(std::conditional_t<IsDevice<Device, T>, char, model_needs_a_device_behind_its_input<Device>>));
  using Keeps = Contract<typename Device::template Backend<T>, Device, T, has_layers<Net, nn::Lowering::norm>,
                         has_layers<Net, nn::Lowering::join>, TensorView<const T, typename In::Batch>>;
  static_assert(sizeof(*Keeps::lacking()));
  using Backend = std::conditional_t<Keeps::kept, typename Device::template Backend<T>, NoBackend<T>>;
};

}  // namespace graph
}  // namespace kern
