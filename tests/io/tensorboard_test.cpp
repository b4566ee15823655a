#include "kern/io/tensorboard.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <limits>
#include <protozero/pbf_reader.hpp>

#include "kern/graph/model.hpp"
#include "kern/nn/nn.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;
using data::Bytes;
using data::detail::read_bytes;
using io::SummaryWriter;

namespace {
/// Where the records of an event file begin, and its end.
std::vector<std::size_t> records(const Bytes& b) {
  std::vector<std::size_t> at{0};
  while (at.back() + 16 <= b.size())
    at.push_back(at.back() + 16 + std::size_t(io::detail::number_at<std::uint64_t>(b.data() + at.back())));
  return at;
}
template <class F>
std::string refusal(F f) {
  return thrown<ArgumentError>(f);
}
}  // namespace

TEST_CASE("what TensorBoard's library and PyTorch's summaries write, to the byte") {
  const Folder folder;
  SummaryWriter w(folder.path(), {1000.25});
  w.add_scalar("train_loss", 2.5, 0, {1001.25});
  w.add_scalar("train_loss", 0, 1, {1002.25});
  w.add_scalar("größe", -1.0 / 3, std::int64_t{1} << 40, {1003.25});
  w.add_scalar("bad", std::numeric_limits<double>::quiet_NaN(), -1, {1004.25});
  w.add_histogram("w", Tensor<float, Shape<2, 4>>{-2, -0.5f, -0.5f, 0, 0.25f, 1, 1.5f, 3}, 7, {1005.25});
  w.add_histogram("zeros", std::vector<int>{0, 0, 0}, 8, {1006.25});
  w.add_histogram("one", std::vector<double>{1e-12}, 8, {1007.25});
  w.add_histogram("small", std::vector<double>{0x1p-60, -0x1p-50}, 9, {1008.25});
  w.add_text("note", "**größe**: 3", 3, {1009.25});
  w.add_text("none", "", 0, {1010.25});
  w.add_graph(Model<Sequential<Residual<Named<"conv", Conv2d<2, 2, 3, 1, 1>>>, Flatten, Linear<24, 5>>,
                    Input<2, 4, 3>>{},
              {1011.25});
  const Bytes got = read_bytes(w.path()), expected = read_bytes(KERN_TEST_DATA "/tensorboard.bin");
  const std::vector<std::size_t> at = records(expected);
  REQUIRE(at.size() == 13);
  REQUIRE(records(got) == at);
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    CAPTURE(i);
    CHECK(std::memcmp(got.data() + at[i], expected.data() + at[i], at[i + 1] - at[i]) == 0);
  }
}

TEST_CASE("pictures: RGB rows of bytes, clipped, in a PNG file") {
  const Folder folder;
  SummaryWriter w(folder.path());
  Tensor<float, Shape<3, 2, 2>> image;
  const float red[] = {0, 0.5f, 1, 1.5f};
  for (int i = 0; i < 4; ++i) image(0, i / 2, i % 2) = red[i];
  image(1, 0, 0) = -1;
  image(2, 1, 1) = std::numeric_limits<float>::quiet_NaN();
  w.add_image("picture", image, 4);
  // What PyTorch makes of these: (255 x).clip(0, 255).astype(uint8).
  const std::uint8_t bytes[] = {0, 0, 0, 127, 0, 0, 255, 0, 0, 255, 0, 0};
  const std::string png = io::encode_png(2, 2, 3, bytes);
  const Bytes file = read_bytes(w.path());
  CHECK(std::string(file.begin(), file.end()).find(png) != std::string::npos);

  Tensor<std::uint8_t, Shape<dyn, 1, 3>> grey(1);
  for (int i = 0; i < 3; ++i) grey(0, 0, i) = std::uint8_t(100 + i);
  w.add_image("grey", grey);
  const Bytes more = read_bytes(w.path());
  const std::vector<std::size_t> at = records(more);
  REQUIRE(at.size() == 4);
  // Event.summary.value.image
  protozero::pbf_reader event(reinterpret_cast<const char*>(more.data()) + at[2] + 12, at[3] - at[2] - 16);
  REQUIRE(event.next(5));
  protozero::pbf_reader summary = event.get_message();
  REQUIRE(summary.next(1));
  protozero::pbf_reader value = summary.get_message();
  REQUIRE(value.next(4));
  protozero::pbf_reader picture = value.get_message();
  REQUIRE(picture.next(1));
  CHECK(picture.get_int32() == 1);
  REQUIRE(picture.next(2));
  CHECK(picture.get_int32() == 3);
  REQUIRE(picture.next(3));
  CHECK(picture.get_int32() == 1);
  REQUIRE(picture.next(4));
  const std::uint8_t row[] = {100, 101, 102};
  CHECK(picture.get_bytes() == io::encode_png(1, 3, 1, row));

  Tensor<float, Shape<2, 4, 4>> two;
  CHECK(refusal([&] { w.add_image("two", two); }).find("expected 1, 3 or 4 channels") != std::string::npos);
  CHECK(records(read_bytes(w.path())).size() == 4);
}

TEST_CASE("values that no histogram has; those beyond its bins are in the outermost") {
  const Folder folder;
  SummaryWriter w(folder.path());
  CHECK(refusal([&] { w.add_histogram("h", std::vector<float>{}); }) ==
        "add_histogram(\"h\"): expected at least 1 value, got 0");
  CHECK(refusal([&] { w.add_histogram("h", std::vector<float>{1, 2, INFINITY}); }) ==
        "add_histogram(\"h\"): value 2: expected a finite number, got inf");
  CHECK(records(read_bytes(w.path())).size() == 2);
  w.add_histogram("h", std::vector<double>{1e300, -1e300, 0});
  CHECK(records(read_bytes(w.path())).size() == 3);
}

TEST_CASE("a tag that is not UTF-8") {
  const Folder folder;
  SummaryWriter w(folder.path());
  CHECK(refusal([&] { w.add_scalar("\xff", 1); }) == "SummaryWriter: expected a tag in UTF-8, got \xff");
  CHECK(refusal([&] { w.add_text("x", "\xc3"); }) == "add_text(\"x\"): expected a text in UTF-8");
  CHECK(records(read_bytes(w.path())).size() == 2);
}

TEST_CASE("every record is in the file when the call returns; two writers don't share one") {
  const Folder folder;
  SummaryWriter a(folder / "runs/a"), b(folder / "runs/a");
  CHECK(a.path() != b.path());
  CHECK(a.path().find(folder / "runs/a/events.out.tfevents.") == 0);
  for (std::size_t i = 0; i < 5; ++i) {
    a.add_scalar("x", double(i), std::int64_t(i));
    const Bytes bytes = read_bytes(a.path());
    CHECK(records(bytes).size() == i + 3);
    CHECK(records(bytes).back() == bytes.size());
  }
  a.flush();
  CHECK(records(read_bytes(b.path())).size() == 2);
}

TEST_CASE("no room: an error, and whole records only") {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    SummaryWriter w(folder / "run");
    w.add_scalar("x", 1);
    const std::size_t before = read_bytes(w.path()).size();
    const rlimit limit{before + 20, before + 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
    const std::string message = thrown<DataError>([&] { w.add_scalar("x", 2); });
    const bool right =
        message == w.path() + ": cannot be written: File too large" && read_bytes(w.path()).size() == before;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a folder that can't be made") {
  const Folder folder;
  write(folder / "file", {1});
  const std::string message = thrown<DataError>([&] { SummaryWriter w(folder / "file/run"); });
  CHECK(message.find(folder / "file/run/events.out.tfevents.") == 0);
  CHECK(message.find(": cannot be made: Not a directory") != std::string::npos);
}
