// kern::images brings libpng and libjpeg-turbo along.
#include <cstdio>
#include <kern/io/image_folder.hpp>

using namespace kern;

int main() {
  const std::uint8_t grey[] = {1, 2, 3, 4, 5, 6};
  const std::string png = io::encode_png(2, 3, 1, grey);
  const data::Bytes file(png.begin(), png.end());
  if (io::decode_png("a.png", file).pixels[15] != 6) return 1;
  try {
    io::decode_jpeg("a.jpg", file);
  } catch (const DataError&) {
    std::puts("consumer ok");
  }
}
