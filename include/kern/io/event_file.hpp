// TensorBoard's event files: records, each with its length and check sums, only ever added to. Source:
// tensorflow/core/lib/io/record_writer.h, tensorboard/summary/writer/event_file_writer.py.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "../core/error.hpp"
#include "../data/file.hpp"
#include "crc32c.hpp"
#include "numbers.hpp"

namespace kern::io {

namespace detail {
/// A record of an event file: length, its check sum, the bytes, theirs.
inline std::string event_record(std::string_view bytes) {
  // Masked: a check sum of bytes that hold check sums is a bad one.
  const auto masked = [](std::string_view b) { return std::rotr(crc32c(b), 15) + 0xa282ead8u; };
  const auto number = [](auto n) {
    data::Bytes b;
    append(b, n);
    return std::string(b.begin(), b.end());
  };
  const std::string length = number(std::uint64_t{bytes.size()});
  return text(length, number(masked(length)), bytes, number(masked(bytes)));
}
}  // namespace detail

/// A new event file in a folder, named as TensorBoard expects it. Each record is handed to the system at once
/// and as a whole: who watches the file sees it, and a crash of the program loses none.
class EventFile {
 public:
  /// Makes the folder, if need be. Throws DataError if the file can't be made. `time`: seconds since 1970.
  EventFile(const std::string& folder, double time) {
    static std::atomic<int> files{0};
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    char host[256] = "localhost", second[32];
    gethostname(host, sizeof host - 1);
    std::snprintf(second, sizeof second, "%010lld", static_cast<long long>(time));
    do {
      path_ = text(folder, "/events.out.tfevents.", second, ".", host, ".", getpid(), ".", files++);
      file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) throw DataError(text(path_, ": cannot be made: ", data::detail::reason(errno)));
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile() { close(file_); }

  const std::string& path() const { return path_; }
  /// Adds a record. Throws DataError if there is no room; the file then ends with the record before.
  void add(std::string_view bytes) {
    const std::string record = detail::event_record(bytes);
    for (std::size_t done = 0; done < record.size();) {
      const ssize_t n = write(file_, record.data() + done, record.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const std::string why = data::detail::reason(errno);
        if (ftruncate(file_, size_) == 0) lseek(file_, size_, SEEK_SET);
        throw DataError(text(path_, ": cannot be written: ", why));
      }
      done += std::size_t(n);
    }
    size_ += off_t(record.size());
  }
  /// Brings all to the disk: what was added then survives a crash of the machine, too. Throws DataError.
  void flush() {
    if (fsync(file_) != 0) throw DataError(text(path_, ": cannot be written: ", data::detail::reason(errno)));
  }

 private:
  std::string path_;
  int file_ = -1;
  off_t size_ = 0;
};

}  // namespace kern::io
