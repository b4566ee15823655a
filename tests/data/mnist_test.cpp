#include "kern/data/mnist.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::Mnist;
using data::Split;

static_assert(data::Dataset<Mnist>);

namespace {
std::string refusal(const std::string& folder, Split split = Split::train,
                    data::Reader reader = data::read_file) {
  return thrown<DataError>([&] { Mnist(folder, split, reader); });
}
/// A folder with the training files, n images and n labels.
void write_train(const std::string& folder, std::uint32_t n, const std::string& mark = "-") {
  write(folder + "/train-images" + mark + "idx3-ubyte", digit_images(n));
  write(folder + "/train-labels" + mark + "idx1-ubyte", digit_labels(n));
}
}  // namespace

TEST_CASE("images and labels of both splits") {
  const Folder folder;
  write_train(folder.path(), 12);
  write(folder / "t10k-images-idx3-ubyte", digit_images(3));
  write(folder / "t10k-labels-idx1-ubyte", digit_labels(3));
  const Mnist train(folder.path());
  REQUIRE(train.size() == 12);
  CHECK(train.classes() == 10);
  for (std::size_t i = 0; i < 12; ++i) {
    const data::Record r = train.get(i);
    CHECK(r.label == std::int32_t(i % 10));
    REQUIRE(r.pixels.size() == 784);
    for (std::size_t p = 0; p < 784; ++p) REQUIRE(r.pixels[p] == std::uint8_t(7 * i + 3 * p));
  }
  CHECK(Mnist(folder.path(), Split::test).size() == 3);
}

TEST_CASE("names with dash or dot, in the folder or as torchvision lays it out") {
  for (const char* place : {"", "/MNIST/raw"})
    for (const char* mark : {"-", "."}) {
      const Folder folder;
      write_train(folder.path() + place, 4, mark);
      CHECK(Mnist(folder.path()).size() == 4);
    }
}

TEST_CASE("packed files: recognised by the raw reader, taken by one that unpacks") {
  const Folder folder;
  const std::string images = write(folder / "train-images-idx3-ubyte.gz", digit_images(4));
  write(folder / "train-labels.idx1-ubyte.gz", digit_labels(4));
  CHECK(refusal(folder.path()) ==
        images +
            ": is gzipped: unpack it with gunzip, or read it with kern::io::read_gzip of <kern/io/gzip.hpp>");
  CHECK(Mnist(folder.path(), Split::train, [](const std::string& p) { return data::read_file(p); }).size() ==
        4);
  // Unpacked ones win.
  write_train(folder.path(), 5);
  CHECK(Mnist(folder.path(), Split::train, [](const std::string& p) { return data::read_file(p); }).size() ==
        5);
  CHECK(Mnist(folder.path()).size() == 5);
  // Renamed, but still packed.
  const std::string labels = write(folder / "train-labels-idx1-ubyte", {0x1f, 0x8b, 8, 0});
  CHECK(refusal(folder.path()).find(labels + ": is still gzipped") == 0);
}

TEST_CASE("what is missing is named") {
  const Folder folder;
  const std::string in = folder.path();
  CHECK(refusal(in) ==
        in + "/train-images-idx3-ubyte: no such file (nor train-images.idx3-ubyte, nor either in " + in +
            "/MNIST/raw)");
  write(folder / "train-images-idx3-ubyte", digit_images(4));
  CHECK(refusal(in) ==
        in + "/train-labels-idx1-ubyte: no such file (nor train-labels.idx1-ubyte, nor either in " + in +
            "/MNIST/raw)");
  write(folder / "train-labels-idx1-ubyte", digit_labels(4));
  CHECK(refusal(in, Split::test).find(in + "/t10k-images-idx3-ubyte: no such file") == 0);
  CHECK(refusal(folder / "none") == (folder / "none") + ": no such folder: expected one with MNIST's files");
  CHECK(refusal(folder / "train-labels-idx1-ubyte") ==
        (folder / "train-labels-idx1-ubyte") + ": is a file: expected a folder with MNIST's files");
  // A folder in a file's place, and a file that can't be opened.
  std::filesystem::create_directory(folder / "t10k-images-idx3-ubyte");
  write(folder / "t10k-labels-idx1-ubyte", digit_labels(4));
  CHECK(refusal(in, Split::test) == in + "/t10k-images-idx3-ubyte: cannot be read: Is a directory");
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  std::filesystem::create_symlink("t10k-images-idx3-ubyte", folder / "t10k-images-idx3-ubyte");
  CHECK(refusal(in, Split::test) ==
        in + "/t10k-images-idx3-ubyte: cannot be opened: Too many levels of symbolic links");
}

TEST_CASE("an empty name is the current folder, as in Python") {
  CHECK(refusal("").find("./train-images-idx3-ubyte") == 0);
}

TEST_CASE("files that don't fit") {
  const Folder folder;
  const std::string images = folder / "train-images-idx3-ubyte", labels = folder / "train-labels-idx1-ubyte";
  write_train(folder.path(), 12);
  write(labels, digit_labels(11));
  CHECK(refusal(folder.path()) == images + " has 12 images, but " + labels + " has 11 labels");
  Bytes b = digit_labels(12);
  b[8 + 7] = 10;
  write(labels, b);
  CHECK(refusal(folder.path()) == labels + ": label of record 7: expected 0 to 9, got 10");
  b[8 + 7] = 255;
  write(labels, b);
  CHECK(refusal(folder.path()) == labels + ": label of record 7: expected 0 to 9, got 255");
  write(labels, digit_images(12));
  CHECK(refusal(folder.path()) ==
        labels + ": wrong magic number: expected 00000801 (labels), got 00000803 (images)");
  write(labels, digit_labels(2));
  write(images, idx_bytes(0x803, {2, 28, 27}, Bytes(2 * 28 * 27)));
  CHECK(refusal(folder.path()) == images + ": expected images of 28 x 28, got 28 x 27");
  write(images, idx_bytes(0x803, {2, 32, 32}, Bytes(2 * 32 * 32)));
  CHECK(refusal(folder.path()) == images + ": expected images of 28 x 28, got 32 x 32");
  write_train(folder.path(), 0);
  CHECK(refusal(folder.path()) == images + ": expected at least 1 image, got 0");
}

TEST_CASE("the sample that ships: 1,000 and 200 images of each class") {
  for (const auto& [split, each] : {std::pair{Split::train, 1000}, {Split::test, 200}}) {
    const Mnist set(KERN_EXAMPLES_DATA, split);
    int count[10] = {};
    double sum = 0;
    for (std::size_t i = 0; i < set.size(); ++i) {
      ++count[set.get(i).label];
      for (std::uint8_t p : set.get(i).pixels) sum += p;
    }
    for (int c : count) CHECK(c == each);
    // The whole set's mean is 0.1307.
    CHECK(std::abs(sum / 255 / 784 / double(set.size()) - 0.1307) < 0.01);
  }
}
