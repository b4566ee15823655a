#include "kern/data/idx.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <algorithm>

#include <numeric>

#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::read_file;
using data::read_idx;

namespace {
std::string refusal(const std::string& path, int rank) {
  return thrown<DataError>([&] { read_idx(path, rank); });
}
}  // namespace

TEST_CASE("a file of images and one of labels") {
  const Folder folder;
  Bytes elements(2 * 3 * 4);
  std::iota(elements.begin(), elements.end(), std::uint8_t{100});
  const data::Idx images = read_idx(write(folder / "i", idx_bytes(0x803, {2, 3, 4}, elements)), 3);
  CHECK(images.extents == std::vector{2, 3, 4});
  CHECK(Bytes(images.elements(), images.elements() + 24) == elements);
  const data::Idx labels = read_idx(write(folder / "l", idx_bytes(0x801, {3}, {9, 0, 5})), 1);
  CHECK(labels.extents == std::vector{3});
  CHECK(Bytes(labels.elements(), labels.elements() + 3) == Bytes{9, 0, 5});
}

TEST_CASE("extents are big-endian 32-bit numbers") {
  const Folder folder;
  const Bytes header{0, 0, 8, 1, 0, 1, 2, 3};
  Bytes file(header.size() + 0x010203, 7);
  std::copy(header.begin(), header.end(), file.begin());
  CHECK(read_idx(write(folder / "l", file), 1).extents == std::vector{0x010203});
}

TEST_CASE("files longer than a block come whole") {
  const Folder folder;
  for (std::size_t n : {std::size_t{32767}, std::size_t{32768}, std::size_t{32769}, std::size_t{200'000}}) {
    Bytes b(n);
    for (std::size_t i = 0; i < n; ++i) b[i] = std::uint8_t(i * 2654435761u >> 13);
    CHECK(read_file(write(folder / "f", b)) == b);
  }
}

TEST_CASE("what is not an IDX file of bytes is refused with both values") {
  const Folder folder;
  const std::string f = folder / "f";
  write(f, {});
  CHECK(refusal(f, 3) == f + ": too short for an IDX file: expected at least 4 bytes, got 0");
  write(f, {0, 0, 8});
  CHECK(refusal(f, 1) == f + ": too short for an IDX file: expected at least 4 bytes, got 3");
  write(f, digit_labels(20));
  CHECK(refusal(f, 3) == f + ": wrong magic number: expected 00000803 (images), got 00000801 (labels)");
  write(f, digit_images(1));
  CHECK(refusal(f, 1) == f + ": wrong magic number: expected 00000801 (labels), got 00000803 (images)");
  write(f, idx_bytes(0xd03, {1, 1, 1}, {0, 0, 0, 0}));  // floats
  CHECK(refusal(f, 3) == f + ": wrong magic number: expected 00000803 (images), got 00000d03");
  write(f, {'<', '!', 'D', 'O', 'C'});
  CHECK(refusal(f, 3) == f + ": wrong magic number: expected 00000803 (images), got 3c21444f");
  write(f, {0, 0, 8, 3, 0, 0, 0, 1, 0, 0});
  CHECK(refusal(f, 3) == f + ": its header is cut off: expected 16 bytes, got 10");
}

TEST_CASE("cut off and too long") {
  const Folder folder;
  const std::string f = folder / "f";
  Bytes b = idx_bytes(0x803, {2, 3, 4}, Bytes(24));
  b.pop_back();
  write(f, b);
  CHECK(refusal(f, 3) == f + ": is cut off: expected 24 bytes behind its header for shape (2, 3, 4), got 23");
  b.resize(16 + 27);
  write(f, b);
  CHECK(refusal(f, 3) ==
        f + ": is too long: expected 24 bytes behind its header for shape (2, 3, 4), got 27");
  write(f, idx_bytes(0x801, {10}, {}));
  CHECK(refusal(f, 1) == f + ": is cut off: expected 10 bytes behind its header for shape (10,), got 0");
}

TEST_CASE("huge extents neither overflow nor allocate") {
  const Folder folder;
  const std::string f = folder / "f";
  const std::uint32_t most = 0xffffffffu;
  write(f, idx_bytes(0x803, {most, most, most}, Bytes(10)));
  CHECK(refusal(f, 3) == f + ": extent 0 in its header: expected at most 2147483647, got 4294967295");
  write(f, idx_bytes(0x803, {0x7fffffff, 0x7fffffff, 28}, Bytes(10)));
  CHECK(refusal(f, 3) == f + ": is cut off: expected at least 2^64 bytes behind its header for shape "
                             "(2147483647, 2147483647, 28), got 10");
  // 2^16 * 2^16 * 2^32 is 0 in 64 bits, 2^31 * 2 * 2^30 too.
  write(f, idx_bytes(0x803, {1u << 16, 1u << 16, most}, {}));
  CHECK(refusal(f, 3).find("extent 2 in its header: expected at most 2147483647, got 4294967295") !=
        std::string::npos);
  write(f, idx_bytes(0x803, {1u << 30, 1u << 4, 1u << 30}, {}));
  CHECK(refusal(f, 3).find(
            "expected at least 2^64 bytes behind its header for shape (1073741824, 16, 1073741824), got 0") !=
        std::string::npos);
  write(f, idx_bytes(0x803, {0x7fffffff, 28, 28}, Bytes(7840)));  // its count is wrong, not its 28
  CHECK(refusal(f, 3) == f + ": is cut off: expected 1683627179248 bytes behind its header for shape "
                             "(2147483647, 28, 28), got 7840");
  write(f, idx_bytes(0x803, {1u << 30, 1, 1}, {1}));
  CHECK(refusal(f, 3) ==
        f + ": is cut off: expected 1073741824 bytes behind its header for shape (1073741824, 1, 1), got 1");
  write(f, idx_bytes(0x803, {0, most, 28}, {}));
  CHECK(refusal(f, 3).find("extent 1 in its header: expected at most 2147483647, got 4294967295") !=
        std::string::npos);
}

TEST_CASE("a gzipped file is recognised, and what to do is said") {
  const Folder folder;
  const std::string f = write(folder / "f", {0x1f, 0x8b, 8, 0, 0, 0});
  CHECK(refusal(f, 3) ==
        f + ": is still gzipped (its first bytes are 1f 8b): unpack it with gunzip, or read it "
            "with kern::io::read_gzip of <kern/io/gzip.hpp>");
}

TEST_CASE("files that are missing, folders, or can't be read") {
  const Folder folder;
  const auto message = [](const std::string& path) { return thrown<DataError>([&] { read_file(path); }); };
  CHECK(message(folder / "f") == (folder / "f") + ": cannot be opened: No such file or directory");
  CHECK(message(folder.path()) == folder.path() + ": cannot be read: Is a directory");
  const std::string loop = folder / "loop";
  std::filesystem::create_symlink("loop", loop);
  CHECK(message(loop) == loop + ": cannot be opened: Too many levels of symbolic links");
  // Opens, but address 0 can't be read.
  if (std::filesystem::exists("/proc/self/mem"))
    CHECK(message("/proc/self/mem") == "/proc/self/mem: cannot be read: Input/output error");

  const std::string secret = write(folder / "secret", {1});
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  const bool root = geteuid() == 0;
  if (root && seteuid(65534) != 0) {
    MESSAGE("not tried: a file without read permission, for this is root and can't be nobody");
    return;
  }
  CHECK(message(secret) == secret + ": cannot be opened: Permission denied");
  if (root) REQUIRE(seteuid(0) == 0);
}

TEST_CASE("a reader of one's own") {
  const data::Idx labels = read_idx("nowhere", 1, [](const std::string&) { return digit_labels(12); });
  CHECK(labels.extents == std::vector{12});
}
