// CIFAR-10 and CIFAR-100: small colour pictures of things, in their binary version: records of a label byte
// (CIFAR-100: two, coarse and fine) and three planes of 32 x 32 bytes, red, green and blue. Source:
// https://www.cs.toronto.edu/~kriz/cifar.html.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "dataset.hpp"
#include "file.hpp"

namespace kern::data {

namespace detail {

/// How one of the two sets is published.
struct CifarKind {
  const char *name, *folder, *archive;                       // the binary version
  const char *python_folder, *python_archive, *python_file;  // the one to tell from it
  std::size_t label_bytes;                                   // of a record
};

/// Pictures as [height][width][channels], and their labels.
class CifarRecords {
 public:
  static constexpr std::size_t area = 32 * 32, pixels = 3 * area;

  /// Reads `files`, one behind the other, from `folder` or the published one in it. Byte `label_byte` of a
  /// record is its label. Throws DataError that names the file and the record.
  [[gnu::cold]] CifarRecords(const CifarKind& kind, const std::string& folder,
                             std::initializer_list<const char*> files, std::size_t label_byte, int classes,
                             Reader reader) {
    const std::string place = find(kind, folder.empty() ? "." : folder, *files.begin());
    for (const char* file : files) add(text(place, "/", file), kind, label_byte, classes, reader);
  }
  std::size_t size() const { return labels_.size(); }
  Record get(std::size_t i) const { return {{images_.data() + i * pixels, pixels}, labels_[i]}; }

 private:
  void add(const std::string& path, const CifarKind& kind, std::size_t label_byte, int classes,
           Reader reader) {
    const Bytes b = reader(path);
    const std::size_t record = kind.label_bytes + pixels, n = b.size() / record;
    if (b.empty()) throw DataError(text(path, ": expected at least 1 record, got an empty file"));
    if (b.size() % record != 0)
      throw DataError(text(path, ": record ", n, ", the last: expected ", record, " bytes as ", kind.name,
                           "'s have, got ", b.size() % record));
    const std::size_t first = size();
    images_.resize((first + n) * pixels);
    labels_.reserve(first + n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint8_t* const from = b.data() + i * record;
      const int label = from[label_byte];
      if (label >= classes)
        throw DataError(
            text(path, ": label of record ", i, ": expected 0 to ", classes - 1, ", got ", label));
      labels_.push_back(std::uint8_t(label));
      const std::uint8_t* const planes = from + kind.label_bytes;
      std::uint8_t* const to = images_.data() + (first + i) * pixels;
      for (std::size_t p = 0; p < area; ++p)
        for (std::size_t c = 0; c < 3; ++c) to[3 * p + c] = planes[c * area + p];
    }
  }

  /// The folder that `file` is in. Where it is in none, what else is there says what to do.
  static std::string find(const CifarKind& kind, const std::string& in, const char* file) {
    const std::string published = text(in, "/", kind.folder);
    for (const std::string& place : {in, published})
      if (exists(text(place, "/", file))) return place;
    require_folder(in, text(kind.name, "'s").c_str());
    const std::string archive = text(in, "/", kind.archive);
    if (exists(archive)) throw DataError(text(archive, ": is still packed: unpack it with tar -xzf"));
    const std::string pickled = text(in, "/", kind.python_file);
    for (const std::string& python :
         {text(in, "/", kind.python_folder), pickled, text(in, "/", kind.python_archive)})
      if (exists(python) && (python != pickled || !exists(text(pickled, "/."))))
        throw DataError(text(python, ": is the Python version of ", kind.name,
                             " (pickles): expected the binary version, ", kind.archive,
                             " of https://www.cs.toronto.edu/~kriz/cifar.html"));
    throw DataError(text(in, "/", file, ": no such file (nor in ", published, ")"));
  }

  Bytes images_, labels_;
};

}  // namespace detail

/// CIFAR-10 (or another set in its files and its image size): 32 x 32 pixels of three bytes, and a class of 0
/// to 9. Its pixels' means are 0.4914, 0.4822, 0.4465, the deviations 0.2470, 0.2435, 0.2616. Copies share
/// the pictures.
class Cifar10 {
 public:
  using Sample = Shape<3, 32, 32>;
  static constexpr int classes() { return 10; }
  static constexpr const char* class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                "dog",      "frog",       "horse", "ship", "truck"};

  /// Reads data_batch_1.bin to data_batch_5.bin, or test_batch.bin, from `folder` or from
  /// cifar-10-batches-bin in it. Throws DataError for a file that is missing, empty or not whole records, and
  /// a label that is not a class.
  explicit Cifar10(const std::string& folder, Split split = Split::train, Reader reader = read_file)
      : records_(split == Split::train ? read(folder,
                                              {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                               "data_batch_4.bin", "data_batch_5.bin"},
                                              reader)
                                       : read(folder, {"test_batch.bin"}, reader)) {}

  std::size_t size() const { return records_->size(); }
  Record get(std::size_t i) const { return records_->get(i); }

 private:
  static std::shared_ptr<const detail::CifarRecords> read(const std::string& folder,
                                                          std::initializer_list<const char*> files,
                                                          Reader reader) {
    return std::make_shared<const detail::CifarRecords>(
        detail::CifarKind{"CIFAR-10", "cifar-10-batches-bin", "cifar-10-binary.tar.gz", "cifar-10-batches-py",
                          "cifar-10-python.tar.gz", "data_batch_1", 1},
        folder, files, 0, classes(), reader);
  }
  std::shared_ptr<const detail::CifarRecords> records_;
};

/// Which of CIFAR-100's two labels of a picture: its class (of 100), or that one's superclass (of 20).
enum class Cifar100Labels { fine, coarse };

/// CIFAR-100: 32 x 32 pixels of three bytes, and a class of 0 to 99, or a superclass of 0 to 19. Its pixels'
/// means are 0.5071, 0.4865, 0.4409, the deviations 0.2673, 0.2564, 0.2762. Copies share the pictures.
class Cifar100 {
 public:
  using Sample = Shape<3, 32, 32>;
  int classes() const { return labels_ == Cifar100Labels::fine ? 100 : 20; }

  /// Reads train.bin or test.bin from `folder` or from cifar-100-binary in it. Throws as Cifar10.
  explicit Cifar100(const std::string& folder, Split split = Split::train,
                    Cifar100Labels labels = Cifar100Labels::fine, Reader reader = read_file)
      : labels_(labels),
        records_(std::make_shared<const detail::CifarRecords>(
            detail::CifarKind{"CIFAR-100", "cifar-100-binary", "cifar-100-binary.tar.gz", "cifar-100-python",
                              "cifar-100-python.tar.gz", "train", 2},
            folder, std::initializer_list<const char*>{split == Split::train ? "train.bin" : "test.bin"},
            labels == Cifar100Labels::fine ? 1 : 0, classes(), reader)) {}

  std::size_t size() const { return records_->size(); }
  Record get(std::size_t i) const { return records_->get(i); }

 private:
  Cifar100Labels labels_;
  std::shared_ptr<const detail::CifarRecords> records_;
};

}  // namespace kern::data
