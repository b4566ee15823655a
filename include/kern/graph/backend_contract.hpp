// What a backend has to have (docs/architecture.md says what each part is for), so that one that lacks a part
// is refused by name:
//   error: ... 'backend_lacks<mine::Backend<float>, part::gather>'
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
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

namespace graph {

/// Net has a batch normalisation.
template <class Net>
inline constexpr bool normalises = []<class... L>(std::tuple<L...>*) {
  return ((L::lowers_to == nn::Lowering::norm) || ...);
}(static_cast<nn::flat_layers<Net>*>(nullptr));

/// How each part of B, a backend for elements T on a Device, is used. Batch: a view of samples. Norms: also
/// those for nets with a batch normalisation.
template <class B, class Device, class T, bool Norms = false,
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
  static Draw draw;
  static D d;
  static N norm;
  static Function f;
  static Op op;
  static ops::Chain<> chain;
  static ops::NormState<T> state;

  template <class Part>
  static auto lack() {
    return static_cast<backend_lacks<B, Part>*>(nullptr);
  }

 public:
  /// A pointer to backend_lacks<B, the first part that it lacks>, or to char. Never called.
  static auto lacking() {
    // clang-format off
    if constexpr (!std::is_constructible_v<B, const Device&>) return lack<part::constructor_from_its_device>();
    else if constexpr (!requires { int(constant.threads()); }) return lack<part::threads>();
    else if constexpr (!requires { int(B::channel_multiple); }) return lack<part::channel_multiple>();
    else if constexpr (!requires { bool(B::fuses_pool(i, i)); }) return lack<part::fuses_pool>();
    else if constexpr (!requires { bool(B::whole_batches); }) return lack<part::whole_batches>();
    else if constexpr (!requires { bool(B::takes_back_below); }) return lack<part::takes_back_below>();
    else if constexpr (!requires(typename B::template Memory<T> m) { m.data(); m.size(); }) return lack<part::Memory>();
    else if constexpr (!requires { b.template allocate<T>(n); }) return lack<part::allocate>();
    else if constexpr (!B::whole_batches && !requires { b.zero(p, n); }) return lack<part::zero>();
    else if constexpr (!requires { constant.to_host(q, n); }) return lack<part::to_host>();
    else if constexpr (!requires { b.edit(p, n, f); }) return lack<part::edit>();
    else if constexpr (!requires { b.targets(std::span<const T>()); b.targets(std::span<const std::int32_t>()); }) return lack<part::targets>();
    else if constexpr (!requires { b.samples_of(batch); }) return lack<part::samples_of>();
    else if constexpr (!requires { b.load(Entry{}, q, p, i); }) return lack<part::load>();
    else if constexpr (!requires { std::size_t(B::scratch_size(d.get(), i)); }) return lack<part::scratch_size>();
    else if constexpr (!requires { std::size_t(B::forward_size(d.get())); }) return lack<part::forward_size>();
    else if constexpr (!requires { std::size_t(B::backward_size(d.get())); }) return lack<part::backward_size>();
    else if constexpr (!requires { std::size_t(B::partial_size(d.get())); }) return lack<part::partial_size>();
    else if constexpr (!requires { b.reserve(n); }) return lack<part::reserve>();
    else if constexpr (!requires { b.prepare_forward(d, q, p); }) return lack<part::prepare_forward>();
    else if constexpr (!requires { b.prepare_backward(d, q, p); }) return lack<part::prepare_backward>();
    else if constexpr (!requires { b.chunks(i, i, f); }) return lack<part::chunks>();
    else if constexpr (!requires { b.forward(s, d, ForwardPass<T>{}, chain, draw); }) return lack<part::forward>();
    else if constexpr (!requires { b.template backward<true>(s, d, BackwardPass<T>{}, chain, NoBelow{}, draw); }) return lack<part::backward>();
    else if constexpr (B::takes_back_below && !requires { b.undo(s, d, q, p, chain, draw); }) return lack<part::undo>();
    else if constexpr (Norms && !requires { int(B::norm_chunk(i, i)); }) return lack<part::norm_chunk>();
    else if constexpr (Norms && !requires { int(B::norm_parts(i, i)); }) return lack<part::norm_parts>();
    else if constexpr (Norms && !requires { b.norm_measure(s, norm, q, p, i); }) return lack<part::norm_measure>();
    else if constexpr (Norms && !requires { b.norm_sums(s, norm, q, state, p, p, i, chain, draw); }) return lack<part::norm_sums>();
    else if constexpr (Norms && !requires { b.norm_backward(s, norm, q, state, q, p, NoBelow{}, draw); }) return lack<part::norm_backward>();
    else if constexpr (!requires { b.each(i, f); }) return lack<part::each>();
    else if constexpr (!requires { b.each_if_finite(i, f); }) return lack<part::each_if_finite>();
    else if constexpr (!requires { b.gather(d, q, n, i, p, p); }) return lack<part::gather>();
    else if constexpr (!requires { b.finish_gather(); }) return lack<part::finish_gather>();
    else if constexpr (!requires { double(b.mean(i, f, q)); }) return lack<part::mean>();
    else if constexpr (!requires { b.apply(n, op, p, q, p, p); }) return lack<part::apply>();
    else if constexpr (!requires { b.set_update(i, op); }) return lack<part::set_update>();
    else if constexpr (!requires { b.begin(draw); }) return lack<part::begin>();
    else if constexpr (!requires { b.update(i, n, op, p, q, p, p); }) return lack<part::update>();
    else if constexpr (!requires { std::size_t(B::reduce_size(n)); }) return lack<part::reduce_size>();
    else if constexpr (!requires { b.reduce(n, op, q, results); }) return lack<part::reduce>();
    else if constexpr (!requires { typename B::Recordings; }) return lack<part::Recordings>();
    else if constexpr (!requires(typename B::Recordings r) { double(b.step(r, i, f, f)); }) return lack<part::step>();
    else return static_cast<char*>(nullptr);
    // clang-format on
  }

  static constexpr bool kept = std::is_same_v<decltype(lacking()), char*>;
};

/// B is a backend for elements T on a Device, for nets without batch normalisations.
template <class B, class Device, class T>
concept IsBackend = Contract<B, Device, T>::kept;

/// In the place of a backend that was refused, so that this is the only error.
template <class T>
struct NoBackend : host::Backend<T> {
  template <class Device>
  explicit NoBackend(const Device&) : host::Backend<T>(Host{}) {}
};

/// Refuses to be a base class where Device's backend lacks a part that Net needs.
template <class Net, class In, class Device, class T>
struct WithBackend {
  using Given = typename Device::template Backend<T>;
  using Keeps = Contract<Given, Device, T, normalises<Net>, TensorView<const T, typename In::Batch>>;
  static_assert(sizeof(*Keeps::lacking()));
  using Backend = std::conditional_t<Keeps::kept, Given, NoBackend<T>>;
};

}  // namespace graph
}  // namespace kern
