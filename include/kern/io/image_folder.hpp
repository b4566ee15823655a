// Pictures in folders, one for each class. Opt-in: needs libpng and libjpeg-turbo (CMake: kern::images).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../data/dataset.hpp"
#include "../data/file.hpp"
#include "jpeg.hpp"
#include "png.hpp"
#include "resize.hpp"

namespace kern::io {

/// The picture in a PNG or JPEG file, whatever its name. Throws DataError that names the file.
[[gnu::cold]] inline Picture read_picture(const std::string& path) {
  const data::Bytes bytes = data::detail::read_bytes(path);
  const auto begins = [&](std::initializer_list<int> with) {
    return bytes.size() >= with.size() && std::equal(with.begin(), with.end(), bytes.begin());
  };
  if (begins({0x89, 'P', 'N', 'G'})) return decode_png(path, bytes);
  if (begins({0xff, 0xd8})) return decode_jpeg(path, bytes);
  throw DataError(text(path, ": is neither a PNG nor a JPEG picture"));
}

/// What to do with a picture of another size than the data set's: an error, or what resize.hpp says.
enum class Fit { refuse, resize, resize_and_crop };

/// Pictures in root/CLASS/...: PNG and JPEG files, as S = Shape<3, height, width>, or Shape<1, ...> for grey
/// (as Pillow's convert("L")). A picture is read when it is asked for. Classes are numbered by the order of
/// their names, files come in the order of theirs. torchvision.datasets.ImageFolder. Copies share the list.
template <class S>
class ImageFolder {
 public:
  using Sample = S;
  static_assert(Sample::rank == 3 && (Sample::extents[0] == 1 || Sample::extents[0] == 3),
                "ImageFolder: expected Shape<3, height, width>, or Shape<1, ...> for grey");

  /// Throws DataError for a folder without classes, a class without pictures, and a file in another format
  /// that torchvision would read.
  [[gnu::cold]] explicit ImageFolder(const std::string& root, Fit fit = Fit::refuse) : fit_(fit) {
    data::detail::require_folder(root, "the classes'");
    try {
      list_ = std::make_shared<const List>(list(root));
    } catch (const std::filesystem::filesystem_error& e) {
      throw DataError(text(e.path1().string(), ": cannot be listed: ", e.code().message()));
    }
  }
  std::size_t size() const { return list_->samples.size(); }
  int classes() const { return int(list_->classes.size()); }
  /// Throws DataError for a file that can't be read or is of a size that doesn't fit.
  data::Record get(std::size_t i) const {
    const auto& [path, label] = list_->samples[i];
    picture_ = read_picture(path);
    fit(picture_, path);
    if constexpr (Sample::extents[0] == 1) make_grey(picture_.pixels);
    return {picture_.pixels, label};
  }

  /// The classes' names, in the order of their numbers.
  const std::vector<std::string>& class_names() const { return list_->classes; }
  std::map<std::string, std::int32_t> class_to_idx() const {
    std::map<std::string, std::int32_t> numbers;
    for (const std::string& name : list_->classes) numbers.emplace(name, std::int32_t(numbers.size()));
    return numbers;
  }
  /// The pictures' files and their classes.
  const std::vector<std::pair<std::string, std::int32_t>>& samples() const { return list_->samples; }

 private:
  struct List {
    std::vector<std::string> classes;
    std::vector<std::pair<std::string, std::int32_t>> samples;
  };

  static List list(const std::string& root) {
    namespace fs = std::filesystem;
    List all;
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.is_directory()) all.classes.push_back(entry.path().filename().string());
    std::sort(all.classes.begin(), all.classes.end());
    if (all.classes.empty()) throw DataError(text(root, ": expected a folder for each class, found none"));
    for (std::size_t c = 0; c < all.classes.size(); ++c) {
      const fs::path folder = fs::path(root) / all.classes[c];
      std::vector<std::pair<std::string, std::string>> files;  // by folder, then by name
      for (const auto& entry :
           fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink))
        if (is_picture(entry.path()) && !entry.is_directory())
          files.emplace_back(entry.path().parent_path().string(), entry.path().filename().string());
      if (files.empty())
        throw DataError(text(folder.string(), ": expected pictures (.png, .jpg, .jpeg), found none"));
      std::sort(files.begin(), files.end());
      for (const auto& [place, name] : files)
        all.samples.emplace_back(text(place, "/", name), std::int32_t(c));
    }
    return all;
  }
  static bool is_picture(const std::filesystem::path& path) {
    std::string end = path.extension().string();
    for (char& c : end)
      if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    for (const char* other : {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"})
      if (end == other) throw DataError(text(path.string(), ": expected PNG and JPEG pictures only"));
    return end == ".png" || end == ".jpg" || end == ".jpeg";
  }
  void fit(Picture& picture, const std::string& path) const {
    const int height = Sample::extents[1], width = Sample::extents[2];
    if (picture.height == height && picture.width == width) return;
    if (fit_ == Fit::refuse)
      throw DataError(text(path, ": expected a picture of ", height, " x ", width, ", got ", picture.height,
                           " x ", picture.width, " (Fit::resize and Fit::resize_and_crop take any)"));
    try {
      picture =
          fit_ == Fit::resize ? resize(picture, height, width) : resize_and_crop(picture, height, width);
    } catch (const ArgumentError& e) {
      throw DataError(text(path, ": ", e.what()));
    }
  }
  /// From red, green, blue, in place: ITU-R 601-2's luma, rounded as Pillow does.
  static void make_grey(data::Bytes& pixels) {
    for (std::size_t i = 0; i < pixels.size() / 3; ++i) {
      const std::uint8_t* const p = pixels.data() + 3 * i;
      pixels[i] = std::uint8_t((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
    }
    pixels.resize(pixels.size() / 3);
  }

  std::shared_ptr<const List> list_;
  Fit fit_;
  mutable Picture picture_;  // get() is called by one thread at a time
};

}  // namespace kern::io
