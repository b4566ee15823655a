// Pictures in folders.
//   g++ -std=c++20 -O3 -march=native -I include examples/snippets/files_images.cpp -pthread -lpng -lturbojpeg
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <kern/io/image_folder.hpp>
#include <kern/kern.hpp>
#include <vector>

using namespace kern;

int main() {
  for (const char* path : {"pictures/cat/1.png", "pictures/cat/2.png", "pictures/dog/1.png"}) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << io::encode_png(64, 64, 1, std::vector<std::uint8_t>(64 * 64));
  }
  // region folder
  const io::ImageFolder<Shape<3, 64, 64>> set{"pictures"};  // pictures/cat/1.png, pictures/dog/1.jpg, ...
  for (const auto& [name, number] : set.class_to_idx()) std::printf("%s %d\n", name.c_str(), number);
  data::DataLoader loader{
      set, data::Compose{data::RandomCrop<56>{}, data::ToTensor{}}, {.batch_size = 8, .num_workers = 4}};
  // endregion
  for (const auto& batch : loader) std::printf("%s\n", shape_string(batch.images.shape()).c_str());
}
