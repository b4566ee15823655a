#include "kern/io/safetensors_file.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <random>

#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/mutate.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using io::SafetensorsFile;

namespace {
const std::string golden_files = KERN_TEST_DATA "/safetensors/";

/// A file with this header and so many bytes behind it.
Bytes file(const std::string& header, std::size_t bytes = 0) {
  Bytes b;
  io::detail::append(b, std::uint64_t{header.size()});
  b.insert(b.end(), header.begin(), header.end());
  b.resize(b.size() + bytes);
  return b;
}
std::string refusal(const Bytes& b) {
  return thrown<DataError>([&] { SafetensorsFile("f", b); });
}
/// What a file with this one tensor of 8 bytes is refused for.
std::string tensor_refusal(const std::string& json) { return refusal(file("{\"x\":" + json + "}", 8)); }
}  // namespace

TEST_CASE("a file of safetensors' own library: names, dtypes, shapes, notes") {
  const SafetensorsFile f(golden_files + "mixed.safetensors");
  CHECK(f.tensors().size() == 20);
  CHECK(f.metadata() == io::Metadata{{"format", "pt"}, {"note", "größe"}});
  const io::TensorInfo* t = f.find("I32");
  REQUIRE(t);
  CHECK(t->dtype == "I32");
  CHECK(t->shape == std::vector<std::int64_t>{2, 3});
  CHECK(f.bytes(*t).size() == 24);
  CHECK(f.find("none") == nullptr);
  CHECK(f.find("F8_E4M3")->dtype == "F8_E4M3");  // can be listed, not converted
  CHECK(f.find("C64")->shape == std::vector<std::int64_t>{2});
}

TEST_CASE("its elements") {
  const SafetensorsFile f(golden_files + "mixed.safetensors");
  const auto check = [&]<class T>(const char* name, T) {
    CAPTURE(name);
    std::vector<T> expected(6);
    for (std::size_t i = 0; i < 6; ++i) expected[i] = T(i);
    CHECK(f.values<T>(name) == expected);
    const auto t = f.tensor<T, Shape<2, dyn>>(name);
    CHECK(t(1, 2) == T(5));
  };
  check("BOOL", true);
  check("U8", std::uint8_t{});
  check("I8", std::int8_t{});
  check("U16", std::uint16_t{});
  check("I16", std::int16_t{});
  check("U32", std::uint32_t{});
  check("I32", std::int32_t{});
  check("U64", std::uint64_t{});
  check("I64", std::int64_t{});
  for (const char* name : {"F64", "F32", "F16", "BF16"}) {
    check(name, 1.0);
    check(name, 1.0f);
  }
  CHECK(f.values<float>("empty").empty());
  CHECK(f.tensor<float, Shape<dyn, 3>>("empty").extent(0) == 0);
  CHECK(f.values<double>("scalar") == std::vector{2.5});
  CHECK(f.tensor<float, Shape<>>("scalar").item() == 2.5f);
  CHECK(f.values<float>("größe \"\n") == std::vector{1.5f});
}

TEST_CASE("F16 and BF16 as PyTorch reads them, to the bit") {
  const SafetensorsFile f(golden_files + "mixed.safetensors");
  for (const std::string name : {"F16", "BF16"}) {
    const std::vector<double>& expected = golden("safetensors.txt", name).at("finite").values;
    const auto v = f.values<double>(name + " special");
    REQUIRE(v.size() == expected.size() + 2);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(v[i] == expected[i]);
      CHECK(std::signbit(v[i]) == std::signbit(expected[i]));
    }
    CHECK(v[v.size() - 2] == std::numeric_limits<double>::infinity());
    CHECK(v[v.size() - 1] == -std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("what can't be had is named") {
  const std::string path = golden_files + "mixed.safetensors";
  const SafetensorsFile f(path);
  CHECK(thrown<ArgumentError>([&] { f.values<float>("none"); }) == path + ": has no tensor \"none\"");
  CHECK(thrown<DataError>([&] { f.values<float>("I64"); }) ==
        path + ": tensor \"I64\": expected dtype F64, F32, F16 or BF16, got I64");
  CHECK(thrown<DataError>([&] { f.values<double>("F8_E4M3"); }) ==
        path + ": tensor \"F8_E4M3\": expected dtype F64, F32, F16 or BF16, got F8_E4M3");
  CHECK(thrown<DataError>([&] { f.values<std::int32_t>("I64"); }) ==
        path + ": tensor \"I64\": expected dtype I32, got I64");
  const auto misshaped = [&]<class S>(S) { return thrown<ShapeError>([&] { f.tensor<float, S>("F32"); }); };
  CHECK(misshaped(Shape<3, 2>{}) == path + ": tensor \"F32\": expected shape (3, 2), got (2, 3)");
  CHECK(misshaped(Shape<dyn, 2>{}) == path + ": tensor \"F32\": expected shape (dyn, 2), got (2, 3)");
  CHECK(misshaped(Shape<dyn>{}) == path + ": tensor \"F32\": expected shape (dyn,), got (2, 3)");
}

TEST_CASE("written as safetensors' own library writes it, to the byte") {
  const std::string path = golden_files + "mixed.safetensors";
  const SafetensorsFile f(path);
  std::vector<io::TensorToSave> tensors;
  for (const io::TensorInfo& t : f.tensors()) tensors.emplace_back(t.name, t.dtype, t.shape, f.bytes(t));
  std::ranges::reverse(tensors);
  const Folder folder;
  io::save_safetensors(folder / "f", tensors, f.metadata());
  CHECK(data::detail::read_bytes(folder / "f") == data::detail::read_bytes(path));
}

TEST_CASE("tensors to a file and back") {
  const Folder folder;
  const Tensor<float, Shape<2, 2>> a{1, 2, 3, 4};
  const auto b = Tensor<std::int64_t, Shape<dyn>>::arange(5);
  io::save_safetensors(folder / "f",
                       {{"a", a}, {"b", b}, {"row", a[1]}, {"none", Tensor<bool, Shape<dyn>>()}});
  const SafetensorsFile f(folder / "f");
  CHECK(f.values<float>("a") == std::vector<float>{1, 2, 3, 4});
  CHECK(f.values<std::int64_t>("b") == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(f.values<float>("row") == std::vector<float>{3, 4});
  CHECK(f.find("none")->dtype == "BOOL");
  io::save_safetensors(folder / "f", {});
  CHECK(SafetensorsFile(folder / "f").tensors().empty());
}

TEST_CASE("what can't be saved is refused, and the file stays") {
  const Folder folder;
  const std::string f = write(folder / "f", {1});
  const Bytes four(4);
  const auto message = [&](const std::vector<io::TensorToSave>& t, const io::Metadata& notes = {}) {
    return thrown<ArgumentError>([&] { io::save_safetensors(f, t, notes); });
  };
  CHECK(message({{"x", "F32", {1}, four}, {"x", "F32", {1}, four}}) ==
        "save_safetensors: tensor \"x\": expected a name of its own");
  CHECK(message({{"__metadata__", "F32", {1}, four}}).find("expected a name of its own") !=
        std::string::npos);
  CHECK(message({{"x", "F33", {1}, four}}) == "save_safetensors: tensor \"x\": unknown dtype F33");
  CHECK(message({{"x", "F32", {2}, four}}) ==
        "save_safetensors: tensor \"x\": expected 8 bytes for shape (2,) of F32, got 4");
  CHECK(message({{"x\xff", "F32", {1}, four}}) == "save_safetensors: expected names and notes in UTF-8");
  CHECK(message({}, {{"note", "\xc3"}}) == "save_safetensors: expected names and notes in UTF-8");
  CHECK(data::detail::read_bytes(f) == Bytes{1});
}

TEST_CASE("headers that are none") {
  CHECK(refusal({1, 2, 3}) == "f: too short for a safetensors file: expected at least 8 bytes, got 3");
  CHECK(refusal({'P', 'K', 3, 4, 0, 0, 8, 8}) ==
        "f: is a zip archive, as torch.save writes: expected a safetensors file, as "
        "safetensors.torch.save_file writes");
  CHECK(refusal(Bytes(8)) == "f: its header is not JSON: expected { as byte 8 of the file");
  Bytes b = file("{}");
  b[0] = 3;
  CHECK(refusal(b) == "f: its header is cut off: expected 3 bytes, got 2");
  b[0] = 1, b[4] = 1;
  CHECK(refusal(b) == "f: length of its header: expected at most 100000000 bytes, got 4294967297");
  b[7] = 255;
  CHECK(refusal(b).find("got 18374686483966590977") != std::string::npos);
  CHECK(refusal(file(" {}")) == "f: its header is not JSON: expected { as byte 8 of the file");
  CHECK(refusal(file("{\"a\" 3}")) == "f: its header is not JSON near byte 13");
  CHECK(refusal(file("{}x")) == "f: its header is not JSON near byte 10");
  CHECK(refusal(file(std::string("{}\0", 3))) == "f: its header is not JSON near byte 10");
  CHECK(refusal(file("{\"a")) == "f: its header is not JSON near byte 11");
  CHECK(refusal(file("{\"\xff\":1}")) == "f: its header is not UTF-8 near byte 10");
  CHECK(refusal(file("{\"a\":" + std::string(100'000, '[') + "}")) ==
        "f: its header is nested deeper than 3 levels");
  CHECK(refusal(file("{\"a\":1e999}")).find("f: its header is not JSON near byte ") == 0);
  CHECK(SafetensorsFile("f", file("{}      ")).tensors().empty());
}

TEST_CASE("keys that are there twice") {
  const std::string x = R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(refusal(file("{" + x + "," + x + "}")) == "f: its header has the key \"x\" twice");
  CHECK(tensor_refusal(R"({"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]})") ==
        "f: its header has the key \"dtype\" twice");
  CHECK(refusal(file(R"({"__metadata__":{"a":"","a":""}})")) == "f: its header has the key \"a\" twice");
  CHECK(SafetensorsFile("f", file("{" + x + ",\"dtype\"" + x.substr(3) + "}")).tensors().size() == 2);
}

TEST_CASE("tensors that the header describes wrongly") {
  const std::string x = "f: tensor \"x\": ";
  CHECK(tensor_refusal("3") == x + "has no dtype");
  CHECK(tensor_refusal(R"({"dtype":"U8","data_offsets":[0,8]})") == x + "has no shape");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[8]})") == x + "has no data_offsets");
  CHECK(tensor_refusal(R"({"dtype":"F33","shape":[8],"data_offsets":[0,8]})") == x + "unknown dtype \"F33\"");
  CHECK(tensor_refusal(R"({"dtype":8,"shape":[8],"data_offsets":[0,8]})") == x + "unknown dtype 8");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":8,"data_offsets":[0,8]})") ==
        x + "shape: expected a list, got 8");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[-8],"data_offsets":[0,8]})") ==
        x + "shape: expected a number from 0 to 2^63 - 1, got -8");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[8.0],"data_offsets":[0,8]})") ==
        x + "shape: expected a number from 0 to 2^63 - 1, got 8.0");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,8]})") ==
        x + "shape: expected a number from 0 to 2^63 - 1, got 9223372036854775808");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[8],"data_offsets":[8]})") ==
        x + "data_offsets: expected a begin and an end, got [8]");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[8],"data_offsets":[0,9]})") ==
        x + "expected bytes from 0 to 8, all behind the header, got 0 to 9");
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[8],"data_offsets":[8,0]})") ==
        x + "expected bytes from 0 to 8, all behind the header, got 8 to 0");
  CHECK(tensor_refusal(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,8]})") ==
        x + "expected 16 bytes for shape (2, 2) of F32, got 8");
  CHECK(tensor_refusal(R"({"dtype":"F4","shape":[3],"data_offsets":[0,1]})") ==
        x + "shape (3,) of F4 is no number of bytes");
  // 2^32 * 2^32 elements are 0 in 64 bits.
  CHECK(tensor_refusal(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})") ==
        x + "shape (4294967296, 4294967296) of U8 is no number of bytes");
  CHECK(refusal(file(R"({"__metadata__":[]})")) == "f: __metadata__: expected texts by name");
  CHECK(refusal(file(R"({"__metadata__":{"a":1}})")) == "f: __metadata__: \"a\": expected a text, got 1");
}

TEST_CASE("bytes that overlap, leave a hole, or belong to no tensor") {
  const auto two = [](int b0, int e0, int b1, int e1, std::size_t bytes) {
    const auto tensor = [](const char* name, int b, int e) {
      return text("\"", name, R"(":{"dtype":"U8","shape":[)", e - b, R"(],"data_offsets":[)", b, ",", e,
                  "]}");
    };
    return refusal(file("{" + tensor("a", b0, e0) + "," + tensor("b", b1, e1) + "}", bytes));
  };
  CHECK(two(0, 4, 3, 8, 8) ==
        "f: tensor \"b\": its bytes overlap others: expected them to begin at 4, got 3");
  CHECK(two(0, 8, 0, 8, 8) ==
        "f: tensor \"b\": its bytes overlap others: expected them to begin at 8, got 0");
  CHECK(two(5, 8, 0, 4, 8) == "f: tensor \"a\": its bytes leave a hole: expected them to begin at 4, got 5");
  CHECK(two(1, 4, 4, 8, 8) == "f: tensor \"a\": its bytes leave a hole: expected them to begin at 0, got 1");
  CHECK(two(0, 4, 4, 8, 9) == "f: expected 8 bytes behind its header, where its last tensor ends, got 9");
  CHECK(two(4, 8, 0, 4, 8) == "nothing was thrown");
}

TEST_CASE("missing files and folders") {
  const Folder folder;
  CHECK(thrown<DataError>([&] { SafetensorsFile(folder / "f"); }) ==
        (folder / "f") + ": cannot be opened: No such file or directory");
  CHECK(thrown<DataError>([&] { SafetensorsFile(folder.path()); }) ==
        folder.path() + ": cannot be read: Is a directory");
}

TEST_CASE("damaged files: read right or refused with a kern::Error, nothing else") {
  const Bytes whole = data::detail::read_bytes(golden_files + "mixed.safetensors");
  std::mt19937_64 random(5);
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const Bytes damaged = mutate(
        i % 2 ? whole : file("{\"x\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4), random);
    try {
      const SafetensorsFile f("f", damaged);
      for (const io::TensorInfo& t : f.tensors()) {
        std::uint64_t sum = 0;
        for (std::uint8_t b : f.bytes(t)) sum += b;  // every byte is there: AddressSanitizer looks
        REQUIRE(sum <= 255 * f.bytes(t).size());
        if (io::detail::readable<float>(t.dtype)) f.values<float>(t.name);
      }
      ++read;
    } catch (const Error& e) {
      REQUIRE(std::string(e.what()).find("f: ") == 0);
      ++refused;
    }
  }
  CHECK(read > 20);
  CHECK(refused > 1000);
}
