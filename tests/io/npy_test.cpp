#include "kern/io/npy.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <random>

#include "support/files.hpp"
#include "support/mutate.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::detail::read_bytes;
using io::load_npy;
using io::save_npy;

namespace {
const std::string golden_files = KERN_TEST_DATA "/npy/";

/// Element i is i; of bool, whether i is odd.
template <class T, class S>
void check_count(const Tensor<T, S>& t) {
  for (std::size_t i = 0; i < t.size(); ++i)
    CHECK(t.data()[i] == (std::is_same_v<T, bool> ? T(i % 2) : T(i)));
}
/// A file with this dict, and so many bytes behind it.
Bytes file(const std::string& dict, std::size_t bytes = 0) {
  const Bytes head{
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, std::uint8_t(dict.size() % 256), std::uint8_t(dict.size() / 256)};
  Bytes b(head.size() + dict.size() + bytes);
  std::copy(dict.begin(), dict.end(), std::copy(head.begin(), head.end(), b.begin()));
  return b;
}
template <class T = Tensor<float, Shape<dyn>>>
std::string refusal(const Bytes& b) {
  return thrown<DataError>([&] { io::detail::parse_npy<typename T::Element, typename T::Extents>("f", b); });
}
/// Of a file with this dict, from where the message says what is wrong.
std::string dict_refusal(const std::string& dict) {
  const std::string message = refusal(file(dict)), begin = "f: its header, near byte ";
  REQUIRE(message.find(begin) == 0);
  return message.substr(begin.size());
}
}  // namespace

TEST_CASE("NumPy's files of every dtype, in either byte order; saved again they are the same, to the byte") {
  const Folder folder;
  const auto check = [&]<class T>(const std::string& name, T) {
    CAPTURE(name);
    const auto t = load_npy<Tensor<T, Shape<2, dyn>>>(golden_files + name + ".npy");
    REQUIRE(t.extent(1) == 3);
    check_count(t);
    if (name.find("big") == 0) return;
    save_npy(t, folder / "f");
    CHECK(read_bytes(folder / "f") == read_bytes(golden_files + name + ".npy"));
  };
  check("bool", true);
  check("int8", std::int8_t{});
  check("uint8", std::uint8_t{});
  check("int16", std::int16_t{});
  check("uint16", std::uint16_t{});
  check("int32", std::int32_t{});
  check("uint32", std::uint32_t{});
  check("int64", std::int64_t{});
  check("uint64", std::uint64_t{});
  check("float32", 1.0f);
  check("float64", 1.0);
  check("big_int16", std::int16_t{});
  check("big_uint32", std::uint32_t{});
  check("big_int64", std::int64_t{});
  check("big_float32", 1.0f);
  check("big_float64", 1.0);
}

TEST_CASE("the three versions of the format") {
  for (const char* version : {"version1", "version2", "version3"})
    check_count(load_npy<Tensor<float, Shape<2, 3>>>(golden_files + version + ".npy"));
}

TEST_CASE("Fortran's order becomes ours") {
  check_count(load_npy<Tensor<std::int32_t, Shape<2, 3, 4>>>(golden_files + "fortran.npy"));
  check_count(load_npy<Tensor<double, Shape<dyn, 2>>>(golden_files + "fortran_big.npy"));
}

TEST_CASE("other shapes: none, empty, long, many dimensions; views") {
  const Folder folder;
  const auto same = [&](const auto& t, const std::string& name) {
    save_npy(t, folder / "f");
    CHECK(read_bytes(folder / "f") == read_bytes(golden_files + name + ".npy"));
  };
  const auto scalar = load_npy<Tensor<double, Shape<>>>(golden_files + "scalar.npy");
  CHECK(scalar.item() == 2.5);
  same(scalar, "scalar");
  const auto empty = load_npy<Tensor<float, Shape<dyn, 3>>>(golden_files + "empty.npy");
  CHECK(empty.size() == 0);
  same(empty, "empty");
  const auto longer = load_npy<Tensor<std::int16_t, Shape<dyn>>>(golden_files + "long.npy");
  check_count(longer);
  same(longer, "long");
  const auto five = load_npy<Tensor<float, Shape<1, 2, 1, 3, 1>>>(golden_files + "five.npy");
  check_count(five);
  same(five, "five");
  const auto rows = Tensor<float, Shape<6>>::arange(6);
  same(rows.reshape<Shape<2, 3>>(), "float32");
}

TEST_CASE("another dtype is named, and ours") {
  const auto refused = [](const std::string& name) {
    const std::string path = golden_files + name + ".npy";
    const std::string message = thrown<DataError>([&] { load_npy<Tensor<float, Shape<2, 3>>>(path); });
    REQUIRE(message.find(path + ": ") == 0);
    return message.substr(path.size() + 2);
  };
  CHECK(refused("float64") == "expected dtype float32, got float64");
  CHECK(refused("big_float64") == "expected dtype float32, got float64");
  CHECK(refused("int32") == "expected dtype float32, got int32");
  CHECK(refused("bool") == "expected dtype float32, got bool");
  CHECK(refused("float16") == "expected dtype float32, got float16");
  CHECK(refused("complex64") == "expected dtype float32, got '<c8'");
  CHECK(refused("text") == "expected dtype float32, got '<U2'");
  CHECK(refused("object") == "expected dtype float32, got '|O'");
  const std::string fields =
      "its header, near byte 21: expected one dtype, got several fields (a structured array)";
  CHECK(refused("fields") == fields);
  CHECK(refused("fields_utf8").find("expected one dtype, got several fields") != std::string::npos);
}

TEST_CASE("a shape that the tensor can't have") {
  const std::string path = golden_files + "float32.npy";
  const auto refused = [&]<class S>(S) {
    return thrown<ShapeError>([&] { load_npy<Tensor<float, S>>(path); });
  };
  CHECK(refused(Shape<3, 2>{}) == path + ": expected shape (3, 2), got (2, 3)");
  CHECK(refused(Shape<dyn, 2>{}) == path + ": expected shape (dyn, 2), got (2, 3)");
  CHECK(refused(Shape<dyn>{}) == path + ": expected shape (dyn,), got (2, 3)");
  CHECK(refused(Shape<>{}) == path + ": expected shape (), got (2, 3)");
  const std::string most = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2147483648)}";
  CHECK(thrown<ShapeError>([&] { io::detail::parse_npy<float, Shape<dyn, dyn>>("f", file(most)); }) ==
        "f: expected shape (dyn, dyn), got (0, 2147483648)");
}

TEST_CASE("what is no NumPy file, cut off or too long") {
  const Bytes whole = read_bytes(golden_files + "float32.npy");
  CHECK(refusal({}) == "f: is no .npy file: expected \\x93NUMPY at its beginning");
  CHECK(refusal({'P', 'K', 1, 2, 0, 0, 0}) == "f: is no .npy file: expected \\x93NUMPY at its beginning");
  CHECK(refusal({'P', 'K', 3, 4, 0, 0, 0}) ==
        "f: is a .npz file: read it with kern::io::NpzFile of <kern/io/npz.hpp>");
  for (std::size_t n = 6; n < whole.size(); ++n) {
    const std::string message = refusal(Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(n)));
    CHECK(message.find("cut off") != std::string::npos);
  }
  Bytes b = whole;
  b[6] = 4;
  CHECK(refusal(b) == "f: version of the format: expected 1 to 3, got 4");
  b[6] = 0;
  CHECK(refusal(b) == "f: version of the format: expected 1 to 3, got 0");
  b = whole;
  b.pop_back();
  CHECK(refusal(b) ==
        "f: is cut off: expected 24 bytes behind its header for shape (2, 3) of float32, got 23");
  b.resize(whole.size() + 1);
  CHECK(refusal(b) ==
        "f: is too long: expected 24 bytes behind its header for shape (2, 3) of float32, got 25");
  CHECK(refusal(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}")) ==
        "f: is cut off: expected 2^61 or more bytes behind its header for shape (4294967296, 4294967296) of "
        "float32, got 0");
}

TEST_CASE("headers that are none") {
  CHECK(dict_refusal("") == "10: expected {");
  CHECK(dict_refusal("{}") == "12: expected the keys descr, fortran_order and shape");
  CHECK(dict_refusal("{'descr': '<f4'}") == "26: expected the keys descr, fortran_order and shape");
  CHECK(dict_refusal("{'descr': '<f4', 'descr': '<f4'}") ==
        "35: expected the keys descr, fortran_order and shape once each, got 'descr'");
  CHECK(dict_refusal("{'shape': (), 'size': 3}") ==
        "31: expected the keys descr, fortran_order and shape once each, got 'size'");
  CHECK(dict_refusal("{descr: '<f4'}") == "11: expected a text in quotes");
  CHECK(dict_refusal("{'descr'") == "18: expected :");
  CHECK(dict_refusal("{'descr': '<f4") == "21: expected a text in quotes");
  CHECK(dict_refusal("{'descr': 'f4'}") == "24: expected a dtype like '<f4', got 'f4'");
  CHECK(dict_refusal("{'fortran_order': 1}") == "28: expected True or False");
  CHECK(dict_refusal("{'shape': 3}") == "20: expected (");
  CHECK(dict_refusal("{'shape': (-3,)}") == "21: an extent: expected a number");
  CHECK(dict_refusal("{'shape': (3 4)}") == "23: expected )");
  CHECK(dict_refusal("{'shape': (9223372036854775808,)}") == "39: an extent: expected at most 2^63 - 1");
  CHECK(dict_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} x") ==
        "66: expected nothing behind the dict");
  // As Python 2 wrote them, and as nobody does.
  CHECK(refusal(file("{'shape': (2L,), 'fortran_order': False, 'descr': '<f4'}\n", 8)) ==
        "nothing was thrown");
  CHECK(refusal(file("{\"descr\":'=f4','fortran_order':True,'shape':( 2 )}", 8)) == "nothing was thrown");
}

TEST_CASE("missing files and folders") {
  const Folder folder;
  const auto message = [](const std::string& path) {
    return thrown<DataError>([&] { load_npy<Tensor<float, Shape<dyn>>>(path); });
  };
  CHECK(message(folder / "f") == (folder / "f") + ": cannot be opened: No such file or directory");
  CHECK(message(folder.path()) == folder.path() + ": cannot be read: Is a directory");
  CHECK(thrown<DataError>([&] { save_npy(Tensor<float, Shape<2>>(), folder / "none/f"); }) ==
        (folder / "none/f") + ": cannot be written: No such file or directory");
}

TEST_CASE("damaged files: read right or refused with a kern::Error, nothing else") {
  std::mt19937_64 random(6);
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const Bytes damaged =
        mutate(file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", 24), random);
    try {
      const auto t = io::detail::parse_npy<std::int32_t, Shape<dyn, dyn>>("f", damaged);
      CHECK(std::size_t(t.extent(0)) * std::size_t(t.extent(1)) == t.size());
      ++read;
    } catch (const Error& e) {
      REQUIRE(std::string(e.what()).find("f: ") == 0);
      ++refused;
    }
  }
  CHECK(read > 50);
  CHECK(refused > 1000);
}
