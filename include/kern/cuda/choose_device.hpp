// "cpu", "cuda", "cuda:1" or "auto", as a program's user says it, to where a model lives.
#pragma once
#include <charconv>
#include <string>
#include <string_view>

#include "../core/error.hpp"
#include "../host/host.hpp"
#include "doctor.hpp"
#include "facts.hpp"
#ifdef __CUDACC__
#include "backend.hpp"
#endif

namespace kern {

/// What a device's name means here.
struct DeviceChoice {
  bool cuda = false;
  int device = 0;    ///< its number, where it is CUDA's
  std::string text;  ///< "cpu" or "cuda:0", and after "auto" why
};

namespace detail {
// verdict_of(device): so that a program without CUDA has no verdicts on drivers in it.
template <class F>
[[gnu::cold]] DeviceChoice choose_device(std::string_view name, const F& verdict_of) {
  if (name == "cpu") return {false, 0, "cpu"};
  int device = 0;
  if (name != "auto" && name != "cuda") {
    const std::string_view number = name.substr(name.find(':') + 1);
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, device);
    if (!name.starts_with("cuda:") || error != std::errc() || stop != end || device < 0)
      throw ArgumentError(text("device: expected auto, cpu, cuda or cuda:N, got \"", name, "\""));
  }
  const Verdict v = verdict_of(device);
  const std::string chosen = text("cuda:", device);
  if (name != "auto") {
    if (!v.usable()) throw ArgumentError(text(name, ": ", v.text, " ", v.remedy));
    return {true, device, chosen};
  }
  return v.usable() ? DeviceChoice{true, device, text(chosen, " (auto: ", v.text, ")")}
                    : DeviceChoice{false, 0, text("cpu (auto: ", v.text, ")")};
}
}  // namespace detail

/// "cpu", "cuda", "cuda:1": that one. "auto": the GPU of number 0 where CUDA works, else the CPU; the choice
/// says why. Throws ArgumentError for another name, or for a GPU that can't be had, with the doctor's verdict
/// and remedy: nothing falls back by itself.
inline DeviceChoice choose_device(std::string_view name, const CudaFacts& facts) {
  return detail::choose_device(name, [&](int device) { return diagnose(facts, device); });
}

#ifdef __CUDACC__
inline namespace with_cuda {
#else
inline namespace without_cuda {
#endif

/// The same on this machine.
inline DeviceChoice choose_device(std::string_view name) {
#ifdef __CUDACC__
  return choose_device(name, cuda_facts());
#else
  return detail::choose_device(name, [](int) { return detail::built_without_cuda(); });
#endif
}

/// f(device), with the Host or the Cuda that was chosen: f is a template that is compiled for both.
template <class F>
decltype(auto) on_device(const DeviceChoice& choice, F&& f) {
  if (choice.cuda)
#ifdef __CUDACC__
    return f(Cuda{choice.device});
#else
    throw ArgumentError(text(choice.text, ": this program was built without CUDA"));
#endif
  return f(Host{});
}

}  // namespace with_cuda or without_cuda

}  // namespace kern
