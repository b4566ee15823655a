// All that training needs to go on, in one safetensors file: what is stopped and resumed is, to the bit, what
// was never stopped. Opt-in: needs nlohmann's JSON library (headers only; the CMake target
// kern::safetensors).
//
// A thing with state has a member
//   template <class Visitor> void state(Visitor& v);
// which tells v all of it, by dotted names:
//   v.value(name, x)          a number, or an array or vector of them that keeps its size
//                             -> what the file has, or, to save, x
//   v.value(name, x, set)     the same, where set(x) is to be called
//   v.count(name, x)          v.value for what counts up: whole numbers from 0 on, far from the largest
//   v.fixed(name, x)          numbers or text that a file must have as they are here
//   v.tensors(prefix, shapes, read, write)
//                             pairs of a name and a shape; read() -> the values of each, write(values)
//   v.within(prefix, f)       f() with a prefix for all names
// To load, all is compared with the file first; where it fits, it is set when all have been asked.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "safetensors.hpp"

namespace kern::io {

namespace detail {

/// A number, or several, as elements behind each other.
template <class X>
auto elements(X& x) {
  if constexpr (std::is_arithmetic_v<std::remove_const_t<X>>)
    return std::span<X>(&x, 1);
  else
    return std::span<std::remove_reference_t<decltype(*x.data())>>(x.data(), x.size());
}
template <class X>
std::vector<std::int64_t> shape_of(const X& x) {
  if constexpr (std::is_arithmetic_v<X>)
    return {};
  else
    return {std::int64_t(x.size())};
}
template <class X>
std::string numbers_text(const X& x) {
  std::string all;
  for (const auto n : elements(x)) all += kern::text(all.empty() ? "" : ", ", +n);
  return all;
}

/// What all visitors do with names: a prefix, and none twice.
class Names {
 public:
  template <class F>
  void within(std::string_view prefix, F&& f) {
    const std::size_t size = prefix_.size();
    prefix_ += prefix;
    f();
    prefix_.resize(size);
  }

 protected:
  std::string whole_name(std::string_view name) const { return prefix_ + std::string(name); }
  std::string own_name(std::string_view name) {
    std::string whole = whole_name(name);
    if (!known_.insert(whole).second)
      throw ArgumentError(text("Checkpoint: two things have the name \"", whole,
                               "\": give one another, Entry{\"name\", thing}"));
    return whole;
  }
  bool known(const std::string& name) const { return known_.contains(name); }

 private:
  std::string prefix_;
  std::set<std::string, std::less<>> known_;
};

/// Collects what a file will hold.
class StateWriter : public Names {
 public:
  template <class X>
  X value(std::string_view name, const X& x) {
    add(name, shape_of(x), elements(x));
    return x;
  }
  template <class X, class Set>
  X value(std::string_view name, const X& x, const Set&) {
    return value(name, x);
  }
  template <class X>
  X count(std::string_view name, const X& x) {
    return value(name, x);
  }
  template <class X>
  void fixed(std::string_view name, const X& x) {
    if constexpr (std::is_convertible_v<X, std::string_view>)
      notes_[own_name(name)] = std::string_view(x);
    else
      value(name, x);
  }
  template <class Shapes, class Read, class Write>
  void tensors(std::string_view prefix, const Shapes& shapes, const Read& read, const Write&) {
    const auto values = read();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      add(text(prefix, shapes[i].first), {shapes[i].second.begin(), shapes[i].second.end()},
          std::span(values[i]));
  }
  void save(const std::string& path) && {
    notes_[checkpoint_kind] = checkpoint_version;
    save_safetensors(path, std::move(tensors_), notes_);
  }

 private:
  template <class T>
  void add(std::string_view name, std::vector<std::int64_t> shape, std::span<const T> values) {
    static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
    const auto* const first = reinterpret_cast<const std::uint8_t*>(values.data());
    const data::Bytes& bytes = bytes_.emplace_back(first, first + values.size_bytes());
    tensors_.emplace_back(own_name(name), std::string(dtype_of<T>()), std::move(shape), bytes);
  }

  std::deque<data::Bytes> bytes_;
  std::vector<TensorToSave> tensors_;
  Metadata notes_;
};

/// Compares what is there with a file, and keeps what is to be set.
class StateReader : public Names {
 public:
  explicit StateReader(const SafetensorsFile& file) : file_(file) {}

  template <class X>
  X value(std::string_view name, X& x) {
    return value(name, x, [&x](const X& read) { x = read; });
  }
  template <class X, class Set>
  X value(std::string_view name, const X& now, Set set) {
    X x = now;
    if (read(own_name(name), shape_of(x), elements(x))) changes_.push_back([set, x] { set(x); });
    return x;
  }
  template <class X>
  X count(std::string_view name, X& x) {
    const X there = value(name, x);
    for (const auto n : elements(there)) {
      constexpr auto most = std::numeric_limits<decltype(+n)>::max() / 2;
      if (n < 0 || n > most) faults_.add(whole_name(name), text("expected 0 to ", most, ", got ", n));
    }
    return there;
  }
  template <class X>
  void fixed(std::string_view name, const X& x) {
    const std::string whole = own_name(name);
    if constexpr (std::is_convertible_v<X, std::string_view>) {
      const auto note = file_.metadata().find(whole);
      if (note == file_.metadata().end() || note->second != x)
        faults_.add(whole, text("expected ", x, ", got ",
                                note == file_.metadata().end() ? "no such note" : note->second));
    } else {
      X there = x;
      if (read(whole, shape_of(x), elements(there)) && there != x)
        faults_.add(whole, text("expected ", numbers_text(x), ", got ", numbers_text(there)));
    }
  }
  template <class Shapes, class Read, class Write>
  void tensors(std::string_view prefix, const Shapes& shapes, const Read&, Write write) {
    using Values = std::remove_cvref_t<decltype(std::declval<Read>()())>;
    Values values(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::size_t size = 1;
      for (const int e : shapes[i].second) size *= std::size_t(e);
      values[i].resize(size);
      read(own_name(text(prefix, shapes[i].first)), {shapes[i].second.begin(), shapes[i].second.end()},
           std::span(values[i]));
    }
    changes_.push_back([write, values = std::move(values)] { write(values); });
  }
  /// Throws DataError that names what does not fit, or sets all.
  void load() {
    for (const TensorInfo& t : file_.tensors())
      if (!known(t.name)) faults_.add_unexpected(t);
    for (const auto& [name, note] : file_.metadata())
      if (name != checkpoint_kind && !known(name))
        faults_.add_unexpected(name, text("expected no such note, got ", note));
    faults_.refuse(file_.path(), "this training");
    for (const auto& change : changes_) change();
  }

 private:
  /// -> whether the file has it so; if not, that is a fault.
  template <class T>
  bool read(const std::string& name, const std::vector<std::int64_t>& shape, std::span<T> out) {
    const TensorInfo* const t = file_.find(name);
    if (!t)
      faults_.add(name, text("expected shape ", shape_string(shape), ", got no such tensor"));
    else if (t->shape != shape)
      faults_.add(name, text("expected shape ", shape_string(shape), ", got ", shape_string(t->shape)));
    else if (t->dtype != dtype_of<T>())
      faults_.add(name, text("expected dtype ", dtype_of<T>(), ", got ", t->dtype));
    else
      return decode<T>(t->dtype, file_.bytes(*t), out), true;
    return false;
  }

  const SafetensorsFile& file_;
  Faults faults_;
  std::vector<std::function<void()>> changes_;
};

}  // namespace detail

/// A number of one's own for a Checkpoint, or an array or vector of them: Entry{"best", best}. Around a thing
/// with state, a name in front of its own, where there are two of a kind.
template <class T>
struct Entry {
  const char* name;
  T& what;

  template <class Visitor>
  void state(Visitor& v) const {
    if constexpr (requires { what.state(v); })
      v.within(text(name, "."), [&] { what.state(v); });
    else
      v.value(name, what);
  }
};
template <class T>
Entry(const char*, T&) -> Entry<T>;

namespace detail {
template <class Thing>
inline constexpr bool may_be_temporary = false;
template <class T>
inline constexpr bool may_be_temporary<Entry<T>> = true;
}  // namespace detail

/// The state of a training in a file: that of a trainer (with its model and optimizer), of loaders,
/// schedules, averages, and numbers of one's own.
///   io::Checkpoint checkpoint{"run.safetensors", trainer, train, schedule, ema, io::Entry{"best", best}};
///   if (checkpoint.exists()) checkpoint.load();
/// What is trained on goes on where it was: train.epoch() is the epoch, and the next loop over `train` begins
/// with the batch after the last one that was given. Threads and device may be others. The things must
/// outlive it.
template <class... Things>
class Checkpoint {
  static_assert(((std::is_lvalue_reference_v<Things> || detail::may_be_temporary<Things>) && ...),
                "Checkpoint: its things must outlive it: give names, not temporaries");

 public:
  explicit Checkpoint(std::string path, Things&&... things)
      : path_(std::move(path)), things_(std::forward<Things>(things)...) {}

  /// Between two steps, also within an epoch. The file is replaced as a whole or not at all (write_file).
  /// Throws DataError if it can't be written, ArgumentError where two things have one name.
  [[gnu::cold]] void save() const {
    detail::StateWriter writer;
    visit(writer);
    std::move(writer).save(path_);
  }
  /// Throws DataError that names the first of what the file lacks or has otherwise, with both values, and of
  /// what it has beside, and all that SafetensorsFile throws; everything is then as it was.
  void load() const { load(SafetensorsFile(path_)); }
  /// The same from a file that was read before.
  [[gnu::cold]] void load(const SafetensorsFile& file) const {
    const auto note = file.metadata().find(detail::checkpoint_kind);
    if (note == file.metadata().end() || note->second != detail::checkpoint_version)
      throw DataError(text(file.path(), ": is no checkpoint of this version: note ", detail::checkpoint_kind,
                           ": expected ", detail::checkpoint_version, ", got ",
                           note == file.metadata().end() ? "no such note" : note->second));
    detail::StateReader reader(file);
    visit(reader);
    reader.load();
  }
  /// Whether there is such a file.
  bool exists() const { return std::filesystem::exists(path_); }
  const std::string& path() const { return path_; }

 private:
  template <class Visitor>
  void visit(Visitor& v) const {
    std::apply([&](auto&... thing) { (visit(v, thing), ...); }, things_);
  }
  template <class Visitor, class Thing>
  static void visit(Visitor& v, Thing& thing) {
    static_assert(
        requires { thing.state(v); },
        "Checkpoint: expected things with state(visitor); numbers go into an Entry");
    thing.state(v);
  }

  std::string path_;
  std::tuple<Things...> things_;
};
template <class... Things>
Checkpoint(std::string, Things&&...) -> Checkpoint<Things...>;

}  // namespace kern::io
