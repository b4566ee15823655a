// MNIST: handwritten digits.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "dataset.hpp"
#include "idx.hpp"

namespace kern::data {

/// MNIST's handwritten digits (or another set in its four files and its image size): 28 x 28 bytes and a
/// class of 0 to 9. Copies share the pictures.
class Mnist {
 public:
  using Sample = Shape<1, 28, 28>;
  static constexpr int classes() { return 10; }

  /// Reads a split from `folder`, or from MNIST/raw in it, as torchvision lays it out; the files' names may
  /// have a dash or a dot (train-images-idx3-ubyte, train-images.idx3-ubyte) and, with a reader that unpacks,
  /// end in .gz. Throws DataError for a file that is missing or wrong, counts that differ, and a label that
  /// is not a class.
  [[gnu::cold]] explicit Mnist(const std::string& folder, Split split = Split::train,
                               Reader reader = read_file) {
    const std::string part = split == Split::train ? "train" : "t10k";
    const std::string image_file = find(folder, part + "-images", "idx3-ubyte", reader);
    const std::string label_file = find(folder, part + "-labels", "idx1-ubyte", reader);
    images_ = std::make_shared<const Idx>(read_idx(image_file, 3, reader));
    labels_ = std::make_shared<const Idx>(read_idx(label_file, 1, reader));
    const auto& e = images_->extents;
    if (e[1] != 28 || e[2] != 28)
      throw DataError(text(image_file, ": expected images of 28 x 28, got ", e[1], " x ", e[2]));
    if (e[0] != labels_->extents[0])
      throw DataError(text(image_file, " has ", e[0], " images, but ", label_file, " has ",
                           labels_->extents[0], " labels"));
    if (e[0] == 0) throw DataError(text(image_file, ": expected at least 1 image, got 0"));
    for (std::size_t i = 0; i < size(); ++i)
      if (labels_->elements()[i] >= classes())
        throw DataError(text(label_file, ": label of record ", i, ": expected 0 to 9, got ",
                             int{labels_->elements()[i]}));
  }

  std::size_t size() const { return std::size_t(images_->extents[0]); }
  Record get(std::size_t i) const {
    return {{images_->elements() + i * pixels, pixels}, labels_->elements()[i]};
  }

 private:
  static constexpr std::size_t pixels = 28 * 28;

  /// The first file that there is, of all the names that it may have.
  [[gnu::cold]] static std::string find(const std::string& folder, const std::string& stem,
                                        const std::string& kind, Reader reader) {
    const std::string in = folder.empty() ? "." : folder;
    std::string packed;
    for (const std::string& place : {in, in + "/MNIST/raw"})
      for (const char* mark : {"-", "."}) {
        const std::string path = place + "/" + stem + mark + kind;
        if (detail::exists(path)) return path;
        if (!detail::exists(path + ".gz")) continue;
        if (reader != &read_file) return path + ".gz";
        if (packed.empty()) packed = path + ".gz";
      }
    if (!packed.empty()) throw DataError(text(packed, ": is gzipped: ", detail::how_to_unpack()));
    detail::require_folder(in, "MNIST's");
    throw DataError(text(in, "/", stem, "-", kind, ": no such file (nor ", stem, ".", kind,
                         ", nor either in ", in, "/MNIST/raw)"));
  }

  std::shared_ptr<const Idx> images_, labels_;
};

}  // namespace kern::data
