// kern::gzip brings zlib along.
#include <cstdio>
#include <cstring>
#include <kern/io/gzip.hpp>

int main(int, char** argv) {
  const kern::data::Bytes self = kern::io::read_gzip(argv[0]);  // not gzipped: read as it is
  if (self.size() < 4 || std::memcmp(self.data() + 1, "ELF", 3) != 0) return 1;
  std::puts("consumer ok");
}
