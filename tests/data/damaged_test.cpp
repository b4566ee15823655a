// Thousands of damaged copies of small files: each is read right or refused with a kern::Error, nothing else.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "kern/data/cifar.hpp"
#include "kern/data/mnist.hpp"
#include "support/files.hpp"
#include "support/mutate.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;

namespace {
std::map<std::string, Bytes> files;
Bytes from_memory(const std::string& path) { return files.at(path); }
}  // namespace

TEST_CASE("damaged IDX files") {
  std::mt19937_64 random(1);
  int read = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const int rank = i % 2 ? 3 : 1;
    files["f"] = mutate(rank == 3 ? idx_bytes(0x803, {3, 2, 2}, Bytes(12, 200)) : digit_labels(12), random);
    try {
      const data::Idx idx = data::read_idx("f", rank, from_memory);
      std::size_t elements = 1;
      for (int e : idx.extents) elements *= std::size_t(e);
      REQUIRE(idx.from + elements == idx.bytes.size());
      ++read;
    } catch (const Error& e) {
      REQUIRE(std::string(e.what()).find("f: ") == 0);
      ++refused;
    }
  }
  CHECK(read > 200);
  CHECK(refused > 500);
}

TEST_CASE("damaged pairs of images and labels") {
  const Folder folder;
  const std::string images = write(folder / "train-images-idx3-ubyte", {}),
                    labels = write(folder / "train-labels-idx1-ubyte", {});
  std::mt19937_64 random(2);
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    files[images] = i % 3 == 1 ? digit_images(3) : mutate(digit_images(3), random);
    files[labels] = i % 3 == 0 ? digit_labels(3) : mutate(digit_labels(3), random);
    try {
      const data::Mnist set(folder.path(), data::Split::train, from_memory);
      std::size_t sum = 0;  // every byte is there: AddressSanitizer looks
      for (std::size_t k = 0; k < set.size(); ++k) {
        const data::Record r = set.get(k);
        REQUIRE(r.label >= 0);
        REQUIRE(r.label < 10);
        for (std::uint8_t p : r.pixels) sum += p;
      }
      REQUIRE(sum <= set.size() * 784 * 255);
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 300);
}

TEST_CASE("damaged CIFAR files") {
  const Folder folder;
  const std::string ten = write(folder / "test_batch.bin", {}), hundred = write(folder / "train.bin", {});
  std::mt19937_64 random(4);
  int read = 0, refused = 0;
  const auto look = [&](const auto& set) {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < set.size(); ++k) {
      const data::Record r = set.get(k);
      REQUIRE(r.label >= 0);
      REQUIRE(r.label < set.classes());
      for (std::uint8_t p : r.pixels) sum += p;
    }
    REQUIRE(sum <= set.size() * 3072 * 255);
    ++read;
  };
  for (int i = 0; i < 2000; ++i) {
    files[ten] = mutate(cifar_records(3, {0, 9, 4}), random);
    files[hundred] = mutate(cifar_records(2, {0, 99, 19, 7}), random);
    try {
      if (i % 2)
        look(data::Cifar10(folder.path(), data::Split::test, from_memory));
      else
        look(data::Cifar100(folder.path(), data::Split::train,
                            i % 4 ? data::Cifar100Labels::fine : data::Cifar100Labels::coarse, from_memory));
    } catch (const Error& e) {
      REQUIRE(std::string(e.what()).find(i % 2 ? ten + ": " : hundred + ": ") == 0);
      ++refused;
    }
  }
  CHECK(read > 200);
  CHECK(refused > 500);
}
