// NumPy's files of several arrays: .npy files in a zip archive, stored or deflated. Opt-in: needs libzip (the
// CMake target kern::npz).
#pragma once
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../data/file.hpp"
#include "npy.hpp"
#include "write_file.hpp"

namespace kern::io {

namespace detail {

template <class T, class S>
data::Bytes npy_bytes(const TensorView<T, S>& v) {
  const std::string header = npy_header(npy_dtype<std::remove_const_t<T>>(), v.shape());
  const auto* const elements = reinterpret_cast<const std::uint8_t*>(v.data());
  data::Bytes b(header.begin(), header.end());
  b.insert(b.end(), elements, elements + v.size() * sizeof(T));
  return b;
}

/// An archive in memory.
class Zip {
 public:
  /// A new one, or the one that `bytes` are (which must outlive this). Throws DataError.
  Zip(const std::string& path, std::span<const std::uint8_t> bytes, int flags) : path_(path) {
    if (bytes.empty() && flags == ZIP_RDONLY)  // libzip would take it for an empty archive
      throw DataError(text(path, ": is no whole zip archive: is empty"));
    zip_error_t error;
    zip_error_init(&error);
    source_ = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source_) archive_ = zip_open_from_source(source_, flags, &error);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (archive_) return;
    zip_source_free(source_);
    throw DataError(text(path, ": is no whole zip archive: ", why));
  }
  Zip(const Zip&) = delete;
  Zip& operator=(const Zip&) = delete;
  ~Zip() {
    if (archive_) zip_discard(archive_);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_, 0); ++i) {
      const char* name = zip_get_name(archive_, zip_uint64_t(i), ZIP_FL_ENC_RAW);
      all.emplace_back(name ? name : "");
    }
    return all;
  }
  /// The bytes of file number `i`, unpacked; libzip compares their check sum.
  data::Bytes read(std::size_t i, const std::string& name) const {
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(zip_fopen_index(archive_, i, 0),
                                                                  &zip_fclose);
    if (!file) refuse(name, zip_strerror(archive_));
    data::Bytes bytes;
    std::array<std::uint8_t, 1 << 15> block;
    // Block by block: the size that the archive claims may be a lie.
    for (zip_int64_t n; (n = zip_fread(file.get(), block.data(), block.size())) != 0;) {
      if (n < 0) refuse(name, zip_file_strerror(file.get()));
      bytes.insert(bytes.end(), block.data(), block.data() + n);
    }
    return bytes;
  }
  void add(const std::string& name, const data::Bytes& bytes, bool deflate) {
    zip_source_t* const file = zip_source_buffer(archive_, bytes.data(), bytes.size(), 0);
    const zip_int64_t i = file ? zip_file_add(archive_, name.c_str(), file, ZIP_FL_ENC_UTF_8) : -1;
    if (i < 0) {
      const std::string why = zip_strerror(archive_);
      zip_source_free(file);
      throw ArgumentError(text(path_, ": \"", name, "\": ", why));
    }
    zip_set_file_compression(archive_, zip_uint64_t(i), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    // The same bytes whenever they are written: 1980 began then.
    zip_file_set_dostime(archive_, zip_uint64_t(i), 0, 1 << 5 | 1, 0);
  }
  /// Packs what was added. -> the archive's bytes; it is closed then.
  data::Bytes finish() {
    if (zip_get_num_entries(archive_, 0) == 0) {  // libzip would remove the file
      data::Bytes nothing(22);
      std::ranges::copy(std::string_view("PK\5\6"), nothing.begin());
      return nothing;
    }
    zip_source_keep(source_);
    const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> kept(source_, &zip_source_free);
    if (zip_close(archive_) != 0)
      throw DataError(text(path_, ": cannot be packed: ", zip_strerror(archive_)));
    archive_ = nullptr;
    zip_stat_t stat;
    zip_stat_init(&stat);
    data::Bytes bytes;
    if (zip_source_stat(source_, &stat) == 0 && zip_source_open(source_) == 0) {
      bytes.resize(std::size_t(stat.size));
      const zip_int64_t n = zip_source_read(source_, bytes.data(), bytes.size());
      zip_source_close(source_);
      if (n == zip_int64_t(bytes.size())) return bytes;
    }
    throw DataError(text(path_, ": cannot be packed"));
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const char* why) const {
    throw DataError(text(path_, ": \"", name, "\": cannot be unpacked: ", why));
  }

  const std::string& path_;
  zip_source_t* source_ = nullptr;
  zip_t* archive_ = nullptr;
};

}  // namespace detail

/// A .npz file in memory: what numpy.load gives.
class NpzFile {
 public:
  /// Throws DataError for what is no zip archive.
  explicit NpzFile(const std::string& path) : NpzFile(path, data::detail::read_bytes(path)) {}
  NpzFile(std::string path, data::Bytes bytes)
      : path_(std::move(path)),
        bytes_(std::move(bytes)),
        zip_(path_, bytes_, ZIP_RDONLY),
        files_(zip_.names()) {}
  NpzFile(const NpzFile&) = delete;
  NpzFile& operator=(const NpzFile&) = delete;

  /// The arrays' names, in the archive's order: its files', without .npy.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const std::string& f : files_) all.push_back(f.ends_with(".npy") ? f.substr(0, f.size() - 4) : f);
    return all;
  }
  /// The array `name` as a TensorType, Tensor<float, Shape<dyn, 3>>. Throws ArgumentError for a name that the
  /// file doesn't have, DataError for an array that is damaged, and what load_npy throws.
  template <class TensorType>
  TensorType tensor(std::string_view name) const {
    const std::vector<std::string> known = names();
    const auto at = std::ranges::find(known, name);
    if (at == known.end()) throw ArgumentError(text(path_, ": has no array \"", name, "\""));
    const std::string file = text(path_, ": \"", name, "\"");
    return detail::parse_npy<typename TensorType::Element, typename TensorType::Extents>(
        file, zip_.read(std::size_t(at - known.begin()), std::string(name)));
  }

 private:
  std::string path_;
  data::Bytes bytes_;
  detail::Zip zip_;
  std::vector<std::string> files_;
};

/// An array for save_npz: {"weights", tensor}. Holds a copy of its elements.
struct ArrayToSave {
  std::string name;
  data::Bytes npy;

  template <class T, class S>
  ArrayToSave(std::string name_, const TensorView<T, S>& v)
      : name(std::move(name_)), npy(detail::npy_bytes(v)) {}
  template <class T, class S>
  ArrayToSave(std::string name_, const Tensor<T, S>& t) : ArrayToSave(std::move(name_), t.view()) {}
};

namespace detail {
inline void save_npz(const std::string& path, const std::vector<ArrayToSave>& arrays, bool deflate) {
  Zip zip(path, {}, ZIP_CREATE | ZIP_TRUNCATE);
  for (const ArrayToSave& a : arrays) zip.add(text(a.name, ".npy"), a.npy, deflate);
  const data::Bytes bytes = zip.finish();
  const Piece piece(bytes);
  write_file(path, {&piece, 1});
}
}  // namespace detail

/// Saves tensors by name as numpy.savez does; atomically, as write_file. Throws ArgumentError for a name that
/// is there twice or is not UTF-8, DataError if the file can't be written.
inline void save_npz(const std::string& path, const std::vector<ArrayToSave>& arrays) {
  detail::save_npz(path, arrays, false);
}
/// The same, deflated, as numpy.savez_compressed does.
inline void save_npz_compressed(const std::string& path, const std::vector<ArrayToSave>& arrays) {
  detail::save_npz(path, arrays, true);
}

}  // namespace kern::io
