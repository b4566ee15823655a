#include "kern/io/npz.hpp"

#include <doctest/doctest.h>

#include <random>

#include "support/files.hpp"
#include "support/mutate.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::detail::read_bytes;
using io::NpzFile;

namespace {
const std::string golden_files = KERN_TEST_DATA "/npz/";
using Names = std::vector<std::string>;
using Row = Tensor<float, Shape<dyn>>;
}  // namespace

TEST_CASE("NumPy's files, stored and deflated") {
  for (const std::string name : {"stored", "deflated"}) {
    const NpzFile f(golden_files + name + ".npz");
    Names names = f.names();
    if (name == "deflated") {
      CHECK(names.back() == "zeros");
      CHECK(f.tensor<Tensor<float, Shape<100, 100>>>("zeros").size() == 10'000);
      names.pop_back();
    }
    CHECK(names == Names{"weights", "labels", "größe", "fortran"});
    const auto weights = f.tensor<Tensor<float, Shape<dyn, 3>>>("weights");
    for (int i = 0; i < 6; ++i) CHECK(weights(i / 3, i % 3) == float(i));
    const auto labels = f.tensor<Tensor<std::int64_t, Shape<dyn>>>("labels");
    for (int i = 0; i < 5; ++i) CHECK(labels(i) == i);
    const auto big = f.tensor<Tensor<double, Shape<2, 2>>>("größe");
    for (int i = 0; i < 4; ++i) CHECK(big(i / 2, i % 2) == i);
    const auto fortran = f.tensor<Tensor<float, Shape<3, 2>>>("fortran");
    for (int i = 0; i < 6; ++i) CHECK(fortran(i / 2, i % 2) == float(i));
  }
  CHECK(NpzFile(golden_files + "positional.npz").names() == Names{"arr_0"});
  CHECK(NpzFile(golden_files + "none.npz").names().empty());
}

TEST_CASE("saved and loaded again; the same bytes each time") {
  const Folder folder;
  const auto row = Row::arange(1000);
  const Tensor<bool, Shape<>> flag{true};
  io::save_npz(folder / "f", {{"row", row}, {"flag", flag}});
  io::save_npz(folder / "g", {{"row", row}, {"flag", flag}});
  io::save_npz_compressed(folder / "small", {{"row", row}, {"flag", flag}});
  CHECK(read_bytes(folder / "f") == read_bytes(folder / "g"));
  CHECK(read_bytes(folder / "f").size() > 4000);
  CHECK(read_bytes(folder / "small").size() < 3000);
  for (const char* name : {"f", "small"}) {
    const NpzFile f(folder / name);
    CHECK(f.names() == Names{"row", "flag"});
    const Row same = f.tensor<Row>("row");
    CHECK(std::equal(row.begin(), row.end(), same.begin(), same.end()));
    CHECK(f.tensor<Tensor<bool, Shape<>>>("flag").item());
  }
  io::save_npz(folder / "f", {});
  CHECK(read_bytes(folder / "f") == read_bytes(golden_files + "none.npz"));
}

TEST_CASE("what is wrong is named") {
  const Folder folder;
  const std::string path = golden_files + "stored.npz", f = folder / "f";
  const NpzFile file(path);
  CHECK(thrown<ArgumentError>([&] { file.tensor<Row>("weight"); }) == path + ": has no array \"weight\"");
  CHECK(thrown<DataError>([&] { file.tensor<Row>("labels"); }) ==
        path + ": \"labels\": expected dtype float32, got int64");
  CHECK(thrown<ShapeError>([&] { file.tensor<Row>("weights"); }) ==
        path + ": \"weights\": expected shape (dyn,), got (2, 3)");
  const auto refusal = [&](const Bytes& b) { return thrown<DataError>([&] { NpzFile("f", b); }); };
  CHECK(refusal({}) == "f: is no whole zip archive: is empty");
  CHECK(refusal(Bytes(100)) == "f: is no whole zip archive: Not a zip archive");
  CHECK(refusal({'P', 'K', 3, 4}).find("f: is no whole zip archive: ") == 0);
  CHECK(thrown<ArgumentError>([&] { io::save_npz(f, {{"x", Row(1)}, {"x", Row(2)}}); }).find("\"x.npy\": ") !=
        std::string::npos);
  CHECK(thrown<ArgumentError>([&] { io::save_npz(f, {{"\xff", Row(1)}}); }).find("\xff.npy\": ") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(f));
  CHECK(thrown<DataError>([&] { NpzFile{f}; }) == f + ": cannot be opened: No such file or directory");
}

TEST_CASE("an element that changed is found by the archive's check sum") {
  Bytes b = read_bytes(golden_files + "stored.npz");
  const std::string all(b.begin(), b.end());
  const std::size_t dict = all.find("'<f4'");
  REQUIRE(dict != std::string::npos);
  b[all.find('\n', dict) + 2] ^= 1;  // of weights
  const NpzFile f("f", b);
  CHECK(thrown<DataError>([&] { f.tensor<Tensor<float, Shape<2, 3>>>("weights"); }) ==
        "f: \"weights\": cannot be unpacked: CRC error");
  CHECK(f.tensor<Tensor<float, Shape<3, 2>>>("fortran")(0, 1) == 1);
}

TEST_CASE("damaged files: the right elements or a kern::Error, nothing else") {
  std::mt19937_64 random(7);
  int read = 0, refused = 0;
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const Bytes whole = read_bytes(golden_files + name);
    for (int i = 0; i < 1500; ++i) {
      const Bytes damaged = mutate(whole, random);
      try {
        const NpzFile f("f", damaged);
        const auto weights = f.tensor<Tensor<float, Shape<2, 3>>>("weights");
        for (int k = 0; k < 6; ++k) CHECK(weights(k / 3, k % 3) == float(k));
        ++read;
      } catch (const Error& e) {
        REQUIRE(std::string(e.what()).find("f: ") == 0);
        ++refused;
      }
    }
  }
  CHECK(read > 200);
  CHECK(refused > 500);
}
