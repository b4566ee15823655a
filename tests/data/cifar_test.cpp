#include "kern/data/cifar.hpp"

#include <doctest/doctest.h>

#include "kern/data/loader.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::Cifar10;
using data::Cifar100;
using data::Cifar100Labels;
using data::Split;

static_assert(data::Dataset<Cifar10>);
static_assert(data::Dataset<Cifar100>);

namespace {
std::string refusal(const std::string& folder, Split split = Split::test) {
  return thrown<DataError>([&] { Cifar10(folder, split); });
}
std::string refusal100(const std::string& folder, Cifar100Labels labels = Cifar100Labels::fine) {
  return thrown<DataError>([&] { Cifar100(folder, Split::train, labels); });
}
const std::string where = " of https://www.cs.toronto.edu/~kriz/cifar.html";
}  // namespace

TEST_CASE(
    "CIFAR-10: five files of training pictures, one to test, in the folder or the published one in it") {
  for (const char* place : {"", "/cifar-10-batches-bin"}) {
    const Folder folder;
    const std::string in = folder.path() + place;
    for (std::uint8_t k = 1; k <= 5; ++k)
      write(in + "/data_batch_" + std::to_string(k) + ".bin", cifar_records(2, {k, std::uint8_t(10 - k)}));
    write(in + "/test_batch.bin", cifar_records(3, {0, 9, 4}));
    const Cifar10 train(folder.path()), test(folder.path(), Split::test);
    REQUIRE(train.size() == 10);
    REQUIRE(test.size() == 3);
    CHECK(train.classes() == 10);
    CHECK(Cifar10::class_names[9] == std::string("truck"));
    for (std::size_t i = 0; i < 10; ++i) {
      const data::Record r = train.get(i);
      CHECK(r.label == std::int32_t(i % 2 ? 9 - i / 2 : 1 + i / 2));
      REQUIRE(r.pixels.size() == 3072);
      for (std::size_t y = 0; y < 32; ++y)
        for (std::size_t x = 0; x < 32; ++x)
          for (std::size_t c = 0; c < 3; ++c)
            REQUIRE(r.pixels[(y * 32 + x) * 3 + c] == cifar_pixel(i % 2, c, y, x));
    }
    CHECK(test.get(1).label == 9);
  }
}

TEST_CASE("a net gets channels, height, width") {
  const Folder folder;
  write(folder / "test_batch.bin", cifar_records(2, {3, 5}));
  data::DataLoader loader{Cifar10(folder.path(), Split::test), data::ToTensor{}, {.batch_size = 2}};
  for (const auto& batch : loader) {
    CHECK(batch.labels[1] == 5);
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x)
          REQUIRE(batch.images(1, c, y, x) ==
                  float(cifar_pixel(1, std::size_t(c), std::size_t(y), std::size_t(x))) / 255.0f);
  }
}

TEST_CASE("CIFAR-100: fine labels or coarse ones") {
  for (const char* place : {"", "/cifar-100-binary"}) {
    const Folder folder;
    write(folder.path() + place + "/train.bin", cifar_records(2, {19, 99, 0, 20}));  // coarse, fine, ...
    write(folder.path() + place + "/test.bin", cifar_records(1, {3, 50}));
    const Cifar100 fine(folder.path());
    CHECK(fine.classes() == 100);
    REQUIRE(fine.size() == 2);
    CHECK(fine.get(0).label == 99);
    CHECK(fine.get(1).label == 20);
    CHECK(fine.get(1).pixels[2] == cifar_pixel(1, 2, 0, 0));
    const Cifar100 coarse(folder.path(), Split::train, Cifar100Labels::coarse);
    CHECK(coarse.classes() == 20);
    CHECK(coarse.get(0).label == 19);
    CHECK(coarse.get(1).label == 0);
    CHECK(Cifar100(folder.path(), Split::test).get(0).label == 50);
  }
}

TEST_CASE("what is missing is named") {
  const Folder folder;
  const std::string in = folder.path();
  CHECK(refusal(in) == in + "/test_batch.bin: no such file (nor in " + in + "/cifar-10-batches-bin)");
  CHECK(refusal(in, Split::train) ==
        in + "/data_batch_1.bin: no such file (nor in " + in + "/cifar-10-batches-bin)");
  for (int k = 1; k <= 3; ++k)
    write(folder / ("data_batch_" + std::to_string(k) + ".bin"), cifar_records(1, {1}));
  CHECK(refusal(in, Split::train) == in + "/data_batch_4.bin: cannot be opened: No such file or directory");
  CHECK(refusal100(in) == in + "/train.bin: no such file (nor in " + in + "/cifar-100-binary)");
  CHECK(refusal(folder / "none") ==
        (folder / "none") + ": no such folder: expected one with CIFAR-10's files");
  CHECK(refusal100(folder / "data_batch_1.bin") ==
        (folder / "data_batch_1.bin") + ": is a file: expected a folder with CIFAR-100's files");
  std::filesystem::create_directory(folder / "test_batch.bin");
  CHECK(refusal(in) == in + "/test_batch.bin: cannot be read: Is a directory");
}

TEST_CASE("the Python version, or an archive, is recognised") {
  for (const char* name : {"cifar-10-batches-py/data_batch_1", "data_batch_1", "cifar-10-python.tar.gz"}) {
    const Folder folder;
    const std::string file = write(folder / name, {0x80, 2, '}'});
    const std::string found = file.substr(0, file.find("/data_batch_1", file.find("batches-py")));
    CHECK(refusal(folder.path(), Split::train) ==
          found +
              ": is the Python version of CIFAR-10 (pickles): expected the binary version, "
              "cifar-10-binary.tar.gz" +
              where);
  }
  const Folder folder;
  std::filesystem::create_directory(folder / "train");  // somebody's own folder of pictures
  CHECK(refusal100(folder.path()).find("/train.bin: no such file") != std::string::npos);
  std::filesystem::remove(folder / "train");
  write(folder / "train", {0x80, 2, '}'});
  CHECK(refusal100(folder.path()) ==
        (folder / "train") +
            ": is the Python version of CIFAR-100 (pickles): expected the binary version, "
            "cifar-100-binary.tar.gz" +
            where);
  write(folder / "cifar-100-binary.tar.gz", {0x1f, 0x8b});
  CHECK(refusal100(folder.path()) ==
        (folder / "cifar-100-binary.tar.gz") + ": is still packed: unpack it with tar -xzf");
}

TEST_CASE("files that are wrong") {
  const Folder folder;
  const std::string in = folder.path(), test = folder / "test_batch.bin", train = folder / "train.bin";
  write(test, {});
  CHECK(refusal(in) == test + ": expected at least 1 record, got an empty file");
  Bytes b = cifar_records(3, {0, 9, 4});
  b.pop_back();
  write(test, b);
  CHECK(refusal(in) == test + ": record 2, the last: expected 3073 bytes as CIFAR-10's have, got 3072");
  b.push_back(0);
  b.push_back(0);
  write(test, b);
  CHECK(refusal(in) == test + ": record 3, the last: expected 3073 bytes as CIFAR-10's have, got 1");
  write(test, cifar_records(3, {0, 9, 10}));
  CHECK(refusal(in) == test + ": label of record 2: expected 0 to 9, got 10");
  write(train, cifar_records(2, {0, 99, 20, 100}));
  CHECK(refusal100(in) == train + ": label of record 1: expected 0 to 99, got 100");
  CHECK(refusal100(in, Cifar100Labels::coarse) == train + ": label of record 1: expected 0 to 19, got 20");
  write(train, cifar_records(2, {0, 1}));
  CHECK(refusal100(in) == train + ": record 1, the last: expected 3074 bytes as CIFAR-100's have, got 3072");
}
