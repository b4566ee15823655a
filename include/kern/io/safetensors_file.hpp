// The safetensors format: eight bytes with the length of a header, the header (JSON: dtype, shape and place
// of each tensor by its name), the tensors' bytes. Source: https://github.com/huggingface/safetensors#format.
// Opt-in: needs nlohmann's JSON library (headers only; the CMake target kern::safetensors).
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "dtype.hpp"
#include "tensor_of.hpp"
#include "write_file.hpp"

namespace kern::io {

/// A file's notes, by name: safetensors' __metadata__.
using Metadata = std::map<std::string, std::string>;

/// What a safetensors file says of a tensor.
struct TensorInfo {
  std::string name, dtype;          ///< "conv1.weight", "F32"
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::size_t begin = 0, end = 0;   ///< of its bytes, counted from behind the header
};

namespace detail {

/// What no header's length exceeds: the limit of safetensors' own library.
inline constexpr std::uint64_t most_header_bytes = 100'000'000;

/// A header as JSON. Throws DataError where it is none, or has a key twice.
[[gnu::cold]] inline nlohmann::json parse_header(const std::string& path, std::string_view header) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto look = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth > 3) throw DataError(text(path, ": its header is nested deeper than 3 levels"));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw DataError(text(path, ": its header has the key \"", value.get<std::string>(), "\" twice"));
    return true;
  };
  // The parser takes a zero byte for the end.
  if (const std::size_t zero = header.find('\0'); zero != header.npos)
    throw DataError(text(path, ": its header is not JSON near byte ", 8 + zero));
  try {
    return Json::parse(header, look);
  } catch (const Json::exception& e) {
    const auto* where = dynamic_cast<const Json::parse_error*>(&e);
    const bool encoding = std::string_view(e.what()).find("UTF-8") != std::string_view::npos;
    throw DataError(text(path, ": its header is not ", encoding ? "UTF-8" : "JSON", " near byte ",
                         8 + (where && where->byte ? where->byte - 1 : 0)));
  }
}

}  // namespace detail

/// A safetensors file in memory. What its header lists is checked against what it holds before anything is
/// read from it.
class SafetensorsFile {
 public:
  /// Throws DataError that names the file and the byte or key: for one that is cut off or too long, a header
  /// that is not what the format says or has a key twice, an unknown dtype, and tensors whose bytes don't fit
  /// their shape, overlap, or leave holes.
  explicit SafetensorsFile(const std::string& path) : SafetensorsFile(path, data::detail::read_bytes(path)) {}
  /// The same of bytes in memory; `path` is what messages call them.
  [[gnu::cold]] SafetensorsFile(std::string path, data::Bytes bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {
    const std::size_t size = bytes_.size();
    if (size < 8)
      throw DataError(
          text(path_, ": too short for a safetensors file: expected at least 8 bytes, got ", size));
    if (detail::number_at<std::uint32_t>(bytes_.data()) == 0x04034b50)
      throw DataError(text(path_,
                           ": is a zip archive, as torch.save writes: expected a safetensors file, as "
                           "safetensors.torch.save_file writes"));
    const auto header = detail::number_at<std::uint64_t>(bytes_.data());
    if (header > detail::most_header_bytes)
      throw DataError(text(path_, ": length of its header: expected at most ", detail::most_header_bytes,
                           " bytes, got ", header));
    if (header > size - 8)
      throw DataError(text(path_, ": its header is cut off: expected ", header, " bytes, got ", size - 8));
    if (header == 0 || bytes_[8] != '{')
      throw DataError(text(path_, ": its header is not JSON: expected { as byte 8 of the file"));
    data_ = 8 + std::size_t(header);
    const auto json =
        detail::parse_header(path_, {reinterpret_cast<const char*>(bytes_.data()) + 8, std::size_t(header)});
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__")
        read_metadata(value);
      else
        read_tensor(name, value);
    }
    check_places();
  }

  const std::string& path() const { return path_; }
  /// In the order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// The tensor of this name, or null.
  const TensorInfo* find(std::string_view name) const {
    const auto at = std::ranges::find(tensors_, name, &TensorInfo::name);
    return at == tensors_.end() ? nullptr : &*at;
  }
  /// Its elements as the file has them: row-major, the lowest byte of each first.
  std::span<const std::uint8_t> bytes(const TensorInfo& t) const {
    return {bytes_.data() + data_ + t.begin, t.end - t.begin};
  }
  /// A tensor's elements, row-major. float and double are read from F64, F32, F16 and BF16, and rounded as
  /// static_cast does; any other T from its own dtype alone. Throws ArgumentError for a name that the file
  /// doesn't have, DataError for another dtype.
  template <class T>
  std::vector<T> values(std::string_view name) const {
    const TensorInfo& t = known<T>(name);
    std::vector<T> v(8 * (t.end - t.begin) / detail::dtypes[detail::dtype_number(t.dtype)].bits);
    detail::decode<T>(t.dtype, bytes(t), v);
    return v;
  }
  /// The same as a tensor of shape S. Throws also ShapeError.
  template <class T, class S>
  Tensor<T, S> tensor(std::string_view name) const {
    const TensorInfo& t = known<T>(name);
    Tensor<T, S> out = detail::tensor_of<T, S>(t.shape, text(path_, ": tensor \"", name, "\": "));
    detail::decode<T>(t.dtype, bytes(t), out.data());
    return out;
  }

 private:
  template <class T>
  const TensorInfo& known(std::string_view name) const {
    const TensorInfo* t = find(name);
    if (!t) throw ArgumentError(text(path_, ": has no tensor \"", name, "\""));
    if (!detail::readable<T>(t->dtype))
      wrong(t->name, text("expected dtype ", detail::readable_names<T>(), ", got ", t->dtype));
    return *t;
  }
  [[noreturn]] void wrong(const std::string& name, const std::string& what) const {
    throw DataError(text(path_, ": tensor \"", name, "\": ", what));
  }
  void read_metadata(const nlohmann::json& json) {
    if (!json.is_object()) throw DataError(text(path_, ": __metadata__: expected texts by name"));
    for (const auto& [name, value] : json.items()) {
      if (!value.is_string())
        throw DataError(text(path_, ": __metadata__: \"", name, "\": expected a text, got ", value.dump()));
      metadata_[name] = value.template get<std::string>();
    }
  }
  void read_tensor(const std::string& name, const nlohmann::json& json) {
    const auto field = [&](const char* key) -> const nlohmann::json& {
      if (!json.is_object() || !json.contains(key)) wrong(name, text("has no ", key));
      return json[key];
    };
    const auto natural = [&](const nlohmann::json& n, const char* key) {
      if (!n.is_number_unsigned() || n.get<std::uint64_t>() > std::uint64_t(INT64_MAX))
        wrong(name, text(key, ": expected a number from 0 to 2^63 - 1, got ", n.dump()));
      return n.get<std::uint64_t>();
    };
    TensorInfo t;
    t.name = name;
    const auto &dtype = field("dtype"), &shape = field("shape"), &places = field("data_offsets");
    if (!dtype.is_string() || detail::dtype_number(dtype.get<std::string>()) == std::size(detail::dtypes))
      wrong(name, text("unknown dtype ", dtype.dump()));
    t.dtype = dtype.get<std::string>();
    if (!shape.is_array()) wrong(name, text("shape: expected a list, got ", shape.dump()));
    for (const auto& e : shape) t.shape.push_back(std::int64_t(natural(e, "shape")));
    if (!places.is_array() || places.size() != 2)
      wrong(name, text("data_offsets: expected a begin and an end, got ", places.dump()));
    t.begin = std::size_t(natural(places[0], "data_offsets"));
    t.end = std::size_t(natural(places[1], "data_offsets"));
    const std::size_t have = bytes_.size() - data_, bits = detail::dtypes[detail::dtype_number(t.dtype)].bits;
    if (t.begin > t.end || t.end > have)
      wrong(name,
            text("expected bytes from 0 to ", have, ", all behind the header, got ", t.begin, " to ", t.end));
    std::uint64_t expected = 0;
    if (!detail::count_bytes(t.shape, bits, expected))
      wrong(name, text("shape ", shape_string(t.shape), " of ", t.dtype, " is no number of bytes"));
    if (expected != t.end - t.begin)
      wrong(name, text("expected ", expected, " bytes for shape ", shape_string(t.shape), " of ", t.dtype,
                       ", got ", t.end - t.begin));
    tensors_.push_back(std::move(t));
  }
  /// Each tensor begins where the one before ends, and the last ends the file.
  void check_places() {
    std::ranges::sort(tensors_, {}, [](const TensorInfo& t) { return std::pair(t.begin, t.end); });
    std::size_t at = 0;
    for (const TensorInfo& t : tensors_) {
      if (t.begin != at)
        wrong(t.name, text("its bytes ", t.begin < at ? "overlap others" : "leave a hole",
                           ": expected them to begin at ", at, ", got ", t.begin));
      at = t.end;
    }
    if (at != bytes_.size() - data_)
      throw DataError(text(path_, ": expected ", at,
                           " bytes behind its header, where its last tensor ends, got ",
                           bytes_.size() - data_));
  }

  std::string path_;
  data::Bytes bytes_;
  std::size_t data_ = 0;  // where the header ends
  std::vector<TensorInfo> tensors_;
  Metadata metadata_;
};

/// A tensor for save_safetensors; its elements belong to someone else, row-major, the lowest byte of each
/// first.
struct TensorToSave {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;

  TensorToSave(std::string name_, std::string dtype_, std::vector<std::int64_t> shape_,
               std::span<const std::uint8_t> bytes_)
      : name(std::move(name_)), dtype(std::move(dtype_)), shape(std::move(shape_)), bytes(bytes_) {}
  /// What a view shows.
  template <class T, class S>
  TensorToSave(std::string name_, const TensorView<T, S>& v)
      : TensorToSave(std::move(name_), std::string(detail::dtype_of<std::remove_const_t<T>>()),
                     {v.shape().begin(), v.shape().end()},
                     {reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)}) {
    static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
  }
  template <class T, class S>
  TensorToSave(std::string name_, const Tensor<T, S>& t) : TensorToSave(std::move(name_), t.view()) {}
};

/// Writes tensors and notes to a file, byte for byte as the library of safetensors does; atomically, as
/// write_file. Throws ArgumentError for a name that is not UTF-8, is there twice or is "__metadata__", an
/// unknown dtype, and bytes that don't fit their shape; DataError if the file can't be written.
[[gnu::cold]] inline void save_safetensors(const std::string& path, std::vector<TensorToSave> tensors,
                                           const Metadata& metadata = {}) {
  // Its order: the dtypes of the largest alignment first, then by name.
  std::ranges::sort(tensors, {}, [](const TensorToSave& t) {
    return std::pair(std::size(detail::dtypes) - detail::dtype_number(t.dtype), std::string_view(t.name));
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::vector<detail::Piece> pieces(1);
  std::size_t at = 0;
  for (const TensorToSave& t : tensors) {
    const auto wrong = [&](const std::string& what) {
      throw ArgumentError(text("save_safetensors: tensor \"", t.name, "\": ", what));
    };
    if (t.name == "__metadata__" || header.contains(t.name)) wrong("expected a name of its own");
    const std::size_t number = detail::dtype_number(t.dtype);
    if (number == std::size(detail::dtypes)) wrong(text("unknown dtype ", t.dtype));
    std::uint64_t expected = 0;
    if (!detail::count_bytes(t.shape, detail::dtypes[number].bits, expected) || expected != t.bytes.size())
      wrong(text("expected ", expected, " bytes for shape ", shape_string(t.shape), " of ", t.dtype, ", got ",
                 t.bytes.size()));
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {at, at + t.bytes.size()}}};
    at += t.bytes.size();
    pieces.push_back(t.bytes);
  }
  std::string text_of_header;
  try {
    text_of_header = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw ArgumentError("save_safetensors: expected names and notes in UTF-8");
  }
  text_of_header.resize((text_of_header.size() + 7) / 8 * 8, ' ');  // the elements stay aligned
  data::Bytes begin;
  detail::append(begin, std::uint64_t{text_of_header.size()});
  begin.insert(begin.end(), text_of_header.begin(), text_of_header.end());
  pieces[0] = begin;
  write_file(path, pieces);
}

}  // namespace kern::io
