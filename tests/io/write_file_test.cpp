#include "kern/io/write_file.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::Bytes;
using data::detail::read_bytes;
using io::write_file;

namespace {
void save(const std::string& path, const Bytes& bytes) {
  const io::detail::Piece piece(bytes);
  write_file(path, {&piece, 1});
}
std::size_t files_in(const Folder& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder.path())) ++n;
  return n;
}
/// f in a child that may write no file longer than `most` bytes. -> its status.
template <class F>
int limited(rlim_t most, F f) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{most, most};
    setrlimit(RLIMIT_FSIZE, &limit);
    f();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
}  // namespace

TEST_CASE("pieces one behind another, in a new file or in place of an old one") {
  const Folder folder;
  const std::string f = folder / "f";
  const Bytes a{1, 2, 3}, none, b(100'000, 7);
  const io::detail::Piece pieces[] = {a, none, b};
  write_file(f, pieces);
  Bytes both = a;
  both.insert(both.end(), b.begin(), b.end());
  CHECK(read_bytes(f) == both);
  save(f, {5});
  CHECK(read_bytes(f) == Bytes{5});
  write_file(f, {});
  CHECK(read_bytes(f).empty());
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a link is followed, permissions stay") {
  const Folder folder;
  const std::string f = write(folder / "f", {1}), link = folder / "link";
  using std::filesystem::perms;
  std::filesystem::permissions(f, perms(0640));
  std::filesystem::create_symlink("f", link);
  save(link, {2});
  CHECK(std::filesystem::is_symlink(link));
  CHECK(read_bytes(f) == Bytes{2});
  CHECK(std::filesystem::status(f).permissions() == perms(0640));
}

TEST_CASE("a name in the current folder") {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  save("f", {3});
  CHECK(read_bytes("f") == Bytes{3});
  std::filesystem::current_path(before);
}

TEST_CASE("what can't be written is named") {
  const Folder folder;
  const auto refusal = [](const std::string& path) { return thrown<DataError>([&] { save(path, {1}); }); };
  CHECK(refusal(folder / "none/f") == (folder / "none/f") + ": cannot be written: No such file or directory");
  CHECK(refusal(folder.path()) == folder.path() + ": cannot be written: is not a file");
  CHECK(refusal("/dev/full") == "/dev/full: cannot be written: is not a file");
  CHECK(refusal("") == ": cannot be written: No such file or directory");
}

TEST_CASE("no room: an error, and the old file stays") {
  const Folder folder;
  const std::string f = write(folder / "f", {1, 2, 3});
  const int status = limited(1000, [&] {
    std::signal(SIGXFSZ, SIG_IGN);  // the write then fails as on a full disk
    const std::string message = thrown<DataError>([&] { save(f, Bytes(100'000)); });
    _exit(message == f + ": cannot be written: File too large" ? 0 : 1);
  });
  CHECK(status == 0);
  CHECK(read_bytes(f) == Bytes{1, 2, 3});
  CHECK(files_in(folder) == 1);
}

TEST_CASE("killed in the middle of it: the old file stays, and the next save is not disturbed") {
  const Folder folder;
  const std::string f = write(folder / "f", {1, 2, 3});
  const int status = limited(1000, [&] {
    std::signal(SIGXFSZ, SIG_DFL);
    save(f, Bytes(100'000));
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXFSZ);
  CHECK(read_bytes(f) == Bytes{1, 2, 3});
  // What such a run of this process's number left doesn't keep it from writing.
  write(text(f, ".", getpid(), "-0.tmp"), {9});
  save(f, {4});
  CHECK(read_bytes(f) == Bytes{4});
}
