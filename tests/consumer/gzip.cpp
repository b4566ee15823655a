// kern::gzip brings zlib along.
#include <zlib.h>

#include <cstdio>

int main() { std::printf("zlib %s\n", zlibVersion()); }
