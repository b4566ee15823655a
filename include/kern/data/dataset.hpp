// What a data set is.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/shape.hpp"

namespace kern::data {

/// Which part of a published data set.
enum class Split { train, test };

/// A sample of a data set and its class, or the values that a net should make of it. A picture is bytes as
/// a file has them, or floats, which need no ToTensor; it belongs to the data set and stays as it is until
/// its next get(), as targets do.
struct Record {
  std::span<const std::uint8_t> pixels;  ///< [height][width][channels]; empty if there are values
  std::int32_t label;
  std::span<const float> values{};   ///< [channels][height][width]
  std::span<const float> targets{};  ///< of a set that has Targets, which looks at no label
};

namespace detail {
/// Shape<channels, height, width> or Shape<features>.
template <class S>
inline constexpr bool is_sample = false;
template <int... E>
inline constexpr bool is_sample<Shape<E...>> =
    (sizeof...(E) == 1 || sizeof...(E) == 3) && Shape<E...>::is_static && ((E > 0) && ...);
template <class S>
concept IsSample = is_sample<S>;
}  // namespace detail

/// Any number of samples of one size. `Sample` is the shape that a net gets: Shape<channels, height, width>
/// of pictures, or Shape<features>. A set of classes says how many: classes(); one of values what their shape
/// is: `Targets`, Shape<3> say. get() is called for one index below size() at a time, by a loader's thread or
/// by the one that loops over it; what it throws comes out of the loop. A loader with several threads has a
/// copy of the set for each.
template <class D>
concept Dataset = requires(const D& d, std::size_t i) {
  requires detail::IsSample<typename D::Sample>;
  { d.size() } -> std::convertible_to<std::size_t>;
  { d.get(i) } -> std::convertible_to<Record>;
} && (requires(const D& d) {
                    { d.classes() } -> std::convertible_to<int>;
                  } || requires { requires detail::IsSample<typename D::Targets>; });

namespace detail {
/// A sample as a transform sees it: (channels, height, width); of features each is a channel of one pixel.
template <class Sample>
inline constexpr std::array<int, 3> image_of = [] {
  static_assert(Sample::rank == 1 || Sample::rank == 3,
                "a data set's samples are (channels, height, width) or (features)");
  if constexpr (Sample::rank == 1)
    return std::array{Sample::extents[0], 1, 1};
  else
    return Sample::extents;
}();
constexpr std::size_t elements(const std::array<int, 3>& image) {
  return std::size_t(image[0]) * std::size_t(image[1]) * std::size_t(image[2]);
}
/// For a set that takes its records from another: has Targets if that has, and is refused with it.
template <class Set>
struct TargetsOf {};
template <class Set>
  requires requires { typename Set::Targets; }
struct TargetsOf<Set> {
  using Targets = typename Set::Targets;
};
template <class Set>
concept Refused = requires { typename Set::refused; };
template <Refused Set>
struct TargetsOf<Set> {
  using refused = typename Set::refused;
};
}  // namespace detail

}  // namespace kern::data
