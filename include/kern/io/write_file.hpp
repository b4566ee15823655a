// Writes a file whole or not at all.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../data/file.hpp"

namespace kern::io {

namespace detail {

using Piece = std::span<const std::uint8_t>;

/// A new file beside the one that it will be; goes away unless it was put there.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, mode_t mode) {
    for (int number = 0;; ++number) {  // another name where a run that died left one
      name_ = text(path, ".", getpid(), "-", number, ".tmp");
      file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (file_ >= 0 || errno != EEXIST || number == 1000) return;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_ < 0) return;
    close(file_);
    if (!kept_) unlink(name_.c_str());
  }
  bool opened() const { return file_ >= 0; }
  /// -> false, and errno, where the system refuses. So do the others.
  bool write(Piece piece) {
    while (!piece.empty()) {
      const ssize_t n = ::write(file_, piece.data(), std::min<std::size_t>(piece.size(), 1u << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      piece = piece.subspan(std::size_t(n));
    }
    return true;
  }
  bool set_mode(mode_t mode) { return fchmod(file_, mode) == 0; }
  /// What was written is on the disk before the name says so, and the name before this returns.
  bool rename_to(const std::string& path) {
    if (fsync(file_) != 0 || std::rename(name_.c_str(), path.c_str()) != 0) return false;
    kept_ = true;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    const int f = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (f < 0) return true;  // a folder that may be written but not read
    fsync(f);                // not every file system can: the file itself is whole in any case
    close(f);
    return true;
  }

 private:
  std::string name_;
  int file_ = -1;
  bool kept_ = false;
};

}  // namespace detail

/// Writes the pieces, one behind another, as the file `path`, in place of one that is there (whose
/// permissions it keeps; a link is followed). It is written under another name in the same folder, brought to
/// the disk and then renamed: whatever happens meanwhile, `path` is the old file or the new one, whole. A
/// process that is killed may leave path.PID-N.tmp. Throws DataError.
[[gnu::cold]] inline void write_file(const std::string& path, std::span<const detail::Piece> pieces) {
  const auto refuse = [&] {
    throw DataError(text(path, ": cannot be written: ", data::detail::reason(errno)));
  };
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  const std::string target = real ? real.get() : path;
  struct stat old{};
  const bool there = stat(target.c_str(), &old) == 0;
  if (there && !S_ISREG(old.st_mode))  // renaming would put a file in place of /dev/null
    throw DataError(text(path, ": cannot be written: is not a file"));
  detail::TemporaryFile file(target, 0666);
  if (!file.opened()) refuse();
  for (const detail::Piece& p : pieces)
    if (!file.write(p)) refuse();
  if (there && !file.set_mode(old.st_mode & 07777)) refuse();
  if (!file.rename_to(target)) refuse();
}

}  // namespace kern::io
