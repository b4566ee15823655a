// A type that is no data set, or no transform, must be the first and only error, which names the member that
// is missing or of another type. Only where one is refused is anything of this instantiated.
#pragma once
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "dataset.hpp"

namespace kern::data {

/// The words of compile errors, never defined:
///   data_set_lacks<Digits, set_member::get, Record(std::size_t) const>
///   data_set_member_is_not_const<Digits, set_member::size>
///   data_set_member_has_another_type<Digits, set_member::Sample, expects_type<Shape<...>>, gets_type<int>>
template <class Set, class Member, class Signature>
struct data_set_lacks;
template <class Set, class Member>
struct data_set_member_is_not_const;
template <class Set, class Member, class Expected, class Got>
struct data_set_member_has_another_type;
template <class T>
struct expects_type;
template <class T>
struct gets_type;
namespace set_member {
struct Sample;
struct size;
struct get;
struct classes;
struct classes_or_Targets;
struct Targets;
}  // namespace set_member
/// What Sample is: not any type.
struct shape_of_channels_height_width_or_of_features;

namespace detail {

struct CallSize {
  template <class S>
  auto operator()(S& s) const -> decltype(s.size());
};
struct CallGet {
  template <class S>
  auto operator()(S& s) const -> decltype(s.get(std::size_t{}));
};
struct CallClasses {
  template <class S>
  auto operator()(S& s) const -> decltype(s.classes());
};
/// A char, or the incomplete type that says what is wrong with a member function.
template <class Set, class Member, class Wanted, class Signature, class Call>
constexpr auto call_complaint() {
  if constexpr (std::is_invocable_v<Call, const Set&>) {
    using Got = decltype(Call()(std::declval<const Set&>()));
    if constexpr (std::is_convertible_v<Got, Wanted>)
      return static_cast<char*>(nullptr);
    else
      return static_cast<
          data_set_member_has_another_type<Set, Member, expects_type<Wanted>, gets_type<Got>>*>(nullptr);
  } else if constexpr (std::is_invocable_v<Call, Set&>) {
    return static_cast<data_set_member_is_not_const<Set, Member>*>(nullptr);
  } else {
    return static_cast<data_set_lacks<Set, Member, Signature>*>(nullptr);
  }
}
template <class Complaint>
inline constexpr bool fine = std::is_same_v<Complaint, char*>;
/// The first thing that keeps Set from being a data set.
template <class Set>
constexpr auto data_set_complaint() {
  constexpr auto size = call_complaint<Set, set_member::size, std::size_t, std::size_t() const, CallSize>();
  constexpr auto get = call_complaint<Set, set_member::get, Record, Record(std::size_t) const, CallGet>();
  if constexpr (!requires { typename Set::Sample; })
    return static_cast<
        data_set_lacks<Set, set_member::Sample, shape_of_channels_height_width_or_of_features>*>(nullptr);
  else if constexpr (!IsSample<typename Set::Sample>)
    return static_cast<data_set_member_has_another_type<
        Set, set_member::Sample, expects_type<shape_of_channels_height_width_or_of_features>,
        gets_type<typename Set::Sample>>*>(nullptr);
  else if constexpr (!fine<std::remove_const_t<decltype(size)>>)
    return size;
  else if constexpr (!fine<std::remove_const_t<decltype(get)>>)
    return get;
  else if constexpr (requires { typename Set::Targets; })
    return static_cast<data_set_member_has_another_type<
        Set, set_member::Targets, expects_type<shape_of_channels_height_width_or_of_features>,
        gets_type<typename Set::Targets>>*>(nullptr);
  else if constexpr (!std::is_invocable_v<CallClasses, Set&>)
    return static_cast<data_set_lacks<Set, set_member::classes_or_Targets, int() const>*>(nullptr);
  else
    return call_complaint<Set, set_member::classes, int, int() const, CallClasses>();
}

template <class Set>
struct SampleOf {
  using type = Shape<1>;
};
template <class Set>
  requires IsSample<typename Set::Sample>
struct SampleOf<Set> {
  using type = typename Set::Sample;
};

/// A data set in place of Set, which is none: says so.
template <class Set>
struct NoDataset {
  static_assert(sizeof(*data_set_complaint<Set>()));
  using refused = Set;
  using Sample = typename SampleOf<Set>::type;
  NoDataset(const Set&) {}
  std::size_t size() const { return 0; }
  int classes() const { return 0; }
  Record get(std::size_t) const { return {{}, 0}; }
};
/// What its batches have for labels: a trainer says no more about them.
struct RefusedLabels : std::span<const std::int32_t> {
  using refused = void;
  using std::span<const std::int32_t>::span;
};

/// Set, or what says that it is no data set.
template <class Set>
using CheckedSet = std::conditional_t<Dataset<Set>, Set, NoDataset<Set>>;

}  // namespace detail

}  // namespace kern::data
