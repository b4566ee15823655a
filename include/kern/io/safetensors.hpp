// A model's parameters and buffers in a safetensors file, as PyTorch's state_dict() has them: what one saves,
// the other loads. Opt-in: needs nlohmann's JSON library (headers only; the CMake target kern::safetensors).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "safetensors_file.hpp"

namespace kern::io {

namespace detail {

/// f(name, shape, whether it is a buffer) for each tensor of a model's state_dict().
template <class Model, class F>
void each_in_state_dict(F&& f) {
  for (const std::string& name : Model::parameter_names()) f(name, Model::parameter_shape(name), false);
  for (const std::string& name : Model::buffer_names()) f(name, Model::buffer_shape(name), true);
}
/// The note that tells checkpoints (checkpoint.hpp) from other files, and what it says.
inline constexpr char checkpoint_kind[] = "kern.checkpoint", checkpoint_version[] = "1";

/// What is wrong with a file, in one message: the first of each sort, and how many more there are.
class Faults {
 public:
  /// What is expected, and is not there or is otherwise.
  void add(std::string_view name, const std::string& what) { expected_.add(name, what); }
  /// What is there, and is not expected.
  void add_unexpected(std::string_view name, const std::string& what) { unexpected_.add(name, what); }
  void add_unexpected(const TensorInfo& t) {
    add_unexpected(t.name, text("expected no such tensor, got one of shape ", shape_string(t.shape)));
  }
  /// Throws DataError unless there are none.
  void refuse(const std::string& path, const char* to_what) const {
    const std::string expected = expected_.text(), unexpected = unexpected_.text();
    if (expected.empty() && unexpected.empty()) return;
    const char* const between = expected.empty() || unexpected.empty() ? "" : "; ";
    throw DataError(kern::text(path, ": does not fit ", to_what, ": ", expected, between, unexpected));
  }

 private:
  class List {
   public:
    void add(std::string_view name, const std::string& what) {
      if (++count_ <= named) first_ += kern::text(count_ == 1 ? "" : "; ", "\"", name, "\": ", what);
    }
    std::string text() const {
      return count_ <= named ? first_ : kern::text(first_, "; and ", count_ - named, " more");
    }

   private:
    static constexpr std::size_t named = 5;
    std::string first_;
    std::size_t count_ = 0;
  };
  List expected_, unexpected_;
};

}  // namespace detail

/// Saves a model's parameters and buffers (the running statistics of batch normalisation): in PyTorch,
/// net.load_state_dict(safetensors.torch.load_file(path)) takes them, if its modules have the same names
/// (those of an nn.Sequential have numbers, as here). F32 or F64, as the model computes. PyTorch's
/// num_batches_tracked is left out: load_state_dict does without. The file is replaced as a whole or not at
/// all (write_file). Throws DataError if it can't be written, ArgumentError for notes that are not UTF-8.
template <class Model>
void save_model(const Model& model, const std::string& path, const Metadata& metadata = {}) {
  using T = typename Model::Element;
  static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
  std::deque<std::vector<T>> values;
  std::vector<TensorToSave> tensors;
  detail::each_in_state_dict<Model>([&](const std::string& name, const std::vector<int>& shape, bool buffer) {
    const std::vector<T>& v = values.emplace_back(buffer ? model.buffer(name) : model.parameter(name));
    tensors.emplace_back(
        name, std::string(detail::dtype_of<T>()), std::vector<std::int64_t>(shape.begin(), shape.end()),
        detail::Piece(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)));
  });
  save_safetensors(path, std::move(tensors), metadata);
}

/// What load_model found, by PyTorch's names; both are empty unless it was not strict.
struct LoadedKeys {
  std::vector<std::string> missing_keys;     ///< the model's, not in the file: they keep their values
  std::vector<std::string> unexpected_keys;  ///< the file's, not the model's
};

/// Sets a model's parameters and buffers from a file, as PyTorch's load_state_dict(strict) does. F64, F32,
/// F16 and BF16 are converted; a norm's num_batches_tracked is passed over. Throws DataError for a file that
/// a Checkpoint has saved, DataError that names the first keys that have another shape or a dtype that is no
/// floating-point number and, if `strict`, those that are missing or are not the model's, and all that
/// SafetensorsFile throws; the model is then as it was.
template <class Model>
LoadedKeys load_model(Model& model, const SafetensorsFile& file, bool strict = true) {
  using T = typename Model::Element;
  if (file.metadata().contains(detail::checkpoint_kind))
    throw DataError(text(file.path(),
                         ": this is a checkpoint of a training, whose parameters stand under "
                         "\"model.\": io::Checkpoint loads it"));
  detail::Faults faults;
  LoadedKeys keys;
  struct Found {
    std::string name;
    std::vector<T> values;
    bool buffer;
  };
  std::vector<Found> found;  // all before the first is set: there may be no memory for one
  std::set<std::string, std::less<>> known;
  detail::each_in_state_dict<Model>([&](const std::string& name, const std::vector<int>& shape, bool buffer) {
    known.insert(name);
    const TensorInfo* t = file.find(name);
    if (!t && strict)
      faults.add(name, text("expected shape ", shape_string(shape), ", got no such tensor"));
    else if (!t)
      keys.missing_keys.push_back(name);
    else if (!std::ranges::equal(t->shape, shape))
      faults.add(name, text("expected shape ", shape_string(shape), ", got ", shape_string(t->shape)));
    else if (!detail::readable<T>(t->dtype))
      faults.add(name, text("expected dtype ", detail::readable_names<T>(), ", got ", t->dtype));
    else
      found.push_back({name, file.values<T>(name), buffer});
  });
  const auto counts_batches = [&](const TensorInfo& t) {
    constexpr std::string_view last = "num_batches_tracked";
    return t.name.ends_with(last) && t.dtype == "I64" && t.shape.empty() &&
           known.contains(t.name.substr(0, t.name.size() - last.size()) + "running_mean");
  };
  for (const TensorInfo& t : file.tensors()) {
    if (known.contains(t.name) || counts_batches(t)) continue;
    if (strict)
      faults.add_unexpected(t);
    else
      keys.unexpected_keys.push_back(t.name);
  }
  faults.refuse(file.path(), "the model");
  for (const Found& f : found) {
    if (f.buffer)
      model.set_buffer(f.name, f.values);
    else
      model.set_parameter(f.name, f.values);
  }
  return keys;
}
template <class Model>
LoadedKeys load_model(Model& model, const std::string& path, bool strict = true) {
  return load_model(model, SafetensorsFile(path), strict);
}

}  // namespace kern::io
