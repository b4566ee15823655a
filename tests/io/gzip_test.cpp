#include "kern/io/gzip.hpp"

#include <doctest/doctest.h>

#include <random>
#include <tuple>

#include "kern/data/loader.hpp"
#include "kern/data/mnist.hpp"
#include "support/files.hpp"
#include "support/mutate.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using io::read_gzip;

namespace {

// printf 'kern kern kern\n' | gzip -n9
const Bytes hello{0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x4e, 0x2d, 0xca,
                  0x53, 0xc8, 0x86, 0x11, 0x5c, 0x00, 0xdb, 0x35, 0x57, 0x7d, 0x0f, 0x00, 0x00, 0x00};
const std::string hello_text = "kern kern kern\n";

/// One member, as zlib writes it.
Bytes gzip(const Bytes& plain, int level = 6) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&z, uLong(plain.size())) + 64), in = plain;
  in.push_back(0);
  z.next_in = in.data();
  z.avail_in = uInt(plain.size());
  z.next_out = out.data();
  z.avail_out = uInt(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(std::min<std::size_t>(out.size(), z.total_out));
  deflateEnd(&z);
  return out;
}
Bytes noise(std::size_t n) {
  Bytes b(n);
  std::mt19937_64 random(n);
  for (auto& v : b) v = std::uint8_t(random());
  return b;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::string refusal(const std::string& path) {
  return thrown<DataError>([&] { read_gzip(path); });
}

}  // namespace

TEST_CASE("what gzip packed") {
  const Folder folder;
  const Bytes b = read_gzip(write(folder / "f.gz", hello));
  CHECK(std::string(b.begin(), b.end()) == hello_text);
}

TEST_CASE("files of all sizes, packed well, badly and not at all") {
  const Folder folder;
  for (std::size_t n : {0u, 1u, 2u, 32767u, 32768u, 32769u, 65536u, 500'000u})
    for (const Bytes& plain : {noise(n), Bytes(n, 7)}) {
      for (int level : {0, 1, 9}) CHECK(read_gzip(write(folder / "f", gzip(plain, level))) == plain);
      CHECK(read_gzip(write(folder / "f", plain)) == plain);
    }
}

TEST_CASE("several members, empty ones too, are one file") {
  const Folder folder;
  const Bytes a = noise(100'000), b = noise(5);
  CHECK(read_gzip(write(folder / "f", gzip(a) + gzip({}) + gzip(b) + gzip(a, 0))) == a + b + a);
}

TEST_CASE("cut off anywhere: never taken for whole") {
  const Folder folder;
  const std::string f = folder / "f";
  for (std::size_t n = 2; n < hello.size(); ++n) {
    write(f, Bytes(hello.begin(), hello.begin() + std::ptrdiff_t(n)));
    CHECK(refusal(f) == f + ": its gzip data is cut off: the file ends at byte " + std::to_string(n) +
                            " in the middle of it");
  }
  const Bytes whole = gzip(noise(40'000)), two = whole + whole;
  for (std::size_t n = whole.size() + 2; n < two.size(); n += 1009) {
    write(f, Bytes(two.begin(), two.begin() + std::ptrdiff_t(n)));
    CHECK(refusal(f).find("is cut off: the file ends at byte " + std::to_string(n)) != std::string::npos);
  }
}

TEST_CASE("damage is found by zlib's checks, and where") {
  const Folder folder;
  const std::string f = folder / "f";
  const auto damaged = [&](std::size_t at, std::uint8_t value) {
    Bytes b = hello;
    b[at] = value;
    return refusal(write(f, b));
  };
  for (const auto& [at, value, reason] :
       {std::tuple<std::size_t, std::uint8_t, std::string>{2, 7, "(unknown compression method)"},
        {20, 0, "(incorrect data check)"},
        {24, 14, "(incorrect length check)"}}) {
    const std::string message = damaged(at, value);
    CHECK(message.find(f + ": its gzip data is damaged near byte ") == 0);
    CHECK(message.find(reason) != std::string::npos);
  }
  CHECK(damaged(10, 0xff).find(f + ": its gzip data is damaged near byte ") == 0);
}

TEST_CASE("something else behind the gzip data") {
  const Folder folder;
  const std::string f = folder / "f";
  write(f, hello + Bytes{1, 2, 3});
  CHECK(refusal(f) == f + ": its gzip data ends at byte 28, but 3 other bytes follow");
  write(f, hello + Bytes{0});
  CHECK(refusal(f) == f + ": its gzip data ends at byte 28, but 1 other bytes follow");
  write(f, hello + Bytes{0x1f, 0x8b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  CHECK(refusal(f).find(": its gzip data is damaged near byte ") != std::string::npos);
}

TEST_CASE("a length in the trailer that lies costs no memory") {
  const Folder folder;
  Bytes b = hello;
  for (std::size_t i = 24; i < 28; ++i) b[i] = 0xff;
  CHECK(refusal(write(folder / "f", b)).find("incorrect length check") != std::string::npos);
}

TEST_CASE("missing files and folders") {
  const Folder folder;
  CHECK(refusal(folder / "f") == (folder / "f") + ": cannot be opened: No such file or directory");
  CHECK(refusal(folder.path()) == folder.path() + ": cannot be read: Is a directory");
}

TEST_CASE("MNIST as it is published: packed, raw, or some of each") {
  const Folder folder;
  write(folder / "train-images-idx3-ubyte.gz", gzip(digit_images(20)));
  write(folder / "train-labels-idx1-ubyte.gz", gzip(digit_labels(20)));
  write(folder / "t10k-images.idx3-ubyte", digit_images(5));
  write(folder / "t10k-labels.idx1-ubyte", gzip(digit_labels(5)));  // packed under a plain name
  const data::Mnist train{folder.path(), data::Split::train, read_gzip};
  REQUIRE(train.size() == 20);
  CHECK(train.get(19).pixels[1] == std::uint8_t(7 * 19 + 3));
  CHECK(train.get(19).label == 9);
  CHECK(data::Mnist{folder.path(), data::Split::test, read_gzip}.size() == 5);
  CHECK(thrown<DataError>([&] {
          data::Mnist{folder.path()};
        }).find("train-images-idx3-ubyte.gz: is gzipped") != std::string::npos);
  CHECK(thrown<DataError>([&] {
          data::Mnist(folder.path(), data::Split::test);
        }).find("t10k-labels.idx1-ubyte: is still gzipped") != std::string::npos);
  write(folder / "train-labels-idx1-ubyte.gz", gzip(idx_bytes(0x801, {20}, Bytes(19))));
  CHECK(thrown<DataError>([&] { data::Mnist(folder.path(), data::Split::train, read_gzip); }) ==
        (folder / "train-labels-idx1-ubyte.gz") +
            ": is cut off: expected 20 bytes behind its header for shape (20,), got 19");
}

TEST_CASE("damaged gzip files: the right bytes or a kern::Error, nothing else") {
  const Folder folder;
  const Bytes plain = digit_labels(200);
  const Bytes packed = gzip(plain);
  std::mt19937_64 random(3);
  int read = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const Bytes damaged = mutate(packed, random);
    try {
      const Bytes b = read_gzip(write(folder / "f", damaged));
      // Harmless (the header's time, say) or no longer a gzip file; its check sum guards the rest.
      REQUIRE((b == plain || b == damaged || b.empty() || b == plain + plain));
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 1000);
}
