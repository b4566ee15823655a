// A model's parameters in a safetensors file, as PyTorch's state_dict() has them: what one saves, the other
// loads. Opt-in: needs nlohmann's JSON library (headers only; the CMake target kern::safetensors).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "safetensors_file.hpp"

namespace kern::io {

/// Saves a model's parameters: in PyTorch, net.load_state_dict(safetensors.torch.load_file(path)) takes them,
/// if its modules have the same names (those of an nn.Sequential have numbers, as here). F32 or F64, as the
/// model computes. The file is replaced as a whole or not at all (write_file). Throws DataError if it can't
/// be written, ArgumentError for notes that are not UTF-8.
template <class Model>
void save_model(const Model& model, const std::string& path, const Metadata& metadata = {}) {
  using T = typename Model::Element;
  static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
  const std::vector<std::string> names = Model::parameter_names();
  std::vector<std::vector<T>> values;
  std::vector<TensorToSave> tensors;
  values.reserve(names.size());
  for (const std::string& name : names) {
    values.push_back(model.parameter(name));
    const std::vector<int> shape = Model::parameter_shape(name);
    const std::vector<T>& v = values.back();
    tensors.emplace_back(
        name, std::string(detail::dtype_of<T>()), std::vector<std::int64_t>(shape.begin(), shape.end()),
        detail::Piece(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)));
  }
  save_safetensors(path, std::move(tensors), metadata);
}

/// Sets all of a model's parameters from a file: PyTorch's load_state_dict(strict=True). F64, F32, F16 and
/// BF16 are converted. Throws DataError that names each key that is missing, is not the model's, has another
/// shape or a dtype that is no floating-point number, and all that SafetensorsFile throws; the model is then
/// as it was.
template <class Model>
void load_model(Model& model, const SafetensorsFile& file) {
  using T = typename Model::Element;
  const std::vector<std::string> names = Model::parameter_names();
  std::string faults;
  const auto fault = [&](const std::string& name, const std::string& what) {
    faults += text(faults.empty() ? "" : "; ", "\"", name, "\": ", what);
  };
  for (const std::string& name : names) {
    const std::vector<int> shape = Model::parameter_shape(name);
    const TensorInfo* t = file.find(name);
    if (!t)
      fault(name, text("expected shape ", shape_string(shape), ", got no such tensor"));
    else if (!std::ranges::equal(t->shape, shape))
      fault(name, text("expected shape ", shape_string(shape), ", got ", shape_string(t->shape)));
    else if (!detail::readable<T>(t->dtype))
      fault(name, text("expected dtype ", detail::readable_names<T>(), ", got ", t->dtype));
  }
  for (const TensorInfo& t : file.tensors())
    if (std::ranges::find(names, t.name) == names.end())
      fault(t.name, text("expected no such tensor, got one of shape ", shape_string(t.shape)));
  if (!faults.empty()) throw DataError(text(file.path(), ": does not fit the model: ", faults));
  std::vector<std::vector<T>> values;  // all before the first is set: there may be no memory for one
  values.reserve(names.size());
  for (const std::string& name : names) values.push_back(file.values<T>(name));
  for (std::size_t i = 0; i < names.size(); ++i) model.set_parameter(names[i], values[i]);
}
template <class Model>
void load_model(Model& model, const std::string& path) {
  load_model(model, SafetensorsFile(path));
}

}  // namespace kern::io
