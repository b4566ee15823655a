// A descriptor is a plain struct of ints. Known<V> carries one whose numbers are compile-time constants, or,
// where V says `dyn`, run-time values: the same kernel source serves both.
#pragma once
#include <array>
#include <bit>
#include <type_traits>

#include "compiler.hpp"
#include "device_code.hpp"

namespace kern {

/// A size that is not known at compile time.
inline constexpr int dyn = -1;

namespace stage {

/// The numbers of a descriptor, in their order.
template <class S>
constexpr auto fields(const S& s) {
  return std::bit_cast<std::array<int, sizeof(S) / sizeof(int)>>(s);
}

/// No field of s is `dyn`.
template <class S>
constexpr bool all_known(const S& s) {
  for (int field : fields(s))
    if (field == dyn) return false;
  return true;
}

/// An S with every field `dyn`.
template <class S>
constexpr S all_dyn() {
  auto f = fields(S{});
  for (int& field : f) field = dyn;
  return std::bit_cast<S>(f);
}

/// V's numbers. Call get() anew in every function: what a type knows is lost in a by-reference capture.
template <auto V, bool = all_known(V)>
struct Known {
  using type = std::remove_cvref_t<decltype(V)>;
  static constexpr type value = V;
  static constexpr bool complete = true;
  constexpr Known() = default;
  constexpr explicit Known(const type&) {}
  KERN_HOST_DEVICE constexpr type get() const { return V; }
};

template <auto V>
struct Known<V, false> {
  using type = std::remove_cvref_t<decltype(V)>;
  static constexpr type value = V;
  static constexpr bool complete = false;
  constexpr explicit Known(const type& v) : numbers_(merged(v)) {}
  KERN_HOST_DEVICE constexpr type get() const {
#ifdef __CUDA_ARCH__
    return numbers_;
#else
    return merged(numbers_);  // so that the compiler sees what V knows
#endif
  }

 private:
  static constexpr type merged(const type& at_run_time) {
    auto f = fields(value);
    const auto r = fields(at_run_time);
    for (unsigned i = 0; i < f.size(); ++i)
      if (f[i] == dyn) f[i] = r[i];
    return std::bit_cast<type>(f);
  }
  type numbers_;
};

}  // namespace stage
}  // namespace kern
