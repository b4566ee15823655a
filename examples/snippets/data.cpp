// Data sets, transforms and the loader.
//   g++ -std=c++20 -O3 -march=native -I include examples/snippets/data.cpp -pthread -o data && ./data
#include <cstdio>
#include <kern/kern.hpp>
#include <vector>

using namespace kern;

// region own
struct RandomInvert {
  void operator()(data::Image& image, const data::TransformDraw& draw) const {
    if (image.bytes) throw ArgumentError("RandomInvert: expected a ToTensor before it");
    if (rng::uniform(draw.block()[0]) < 0.5f)
      for (std::size_t i = 0; i < image.size(); ++i) image.values[i] = 1 - image.values[i];
  }
};
// endregion

int main() {
  Tensor<std::uint8_t, Shape<dyn, 3, 32, 32>> pictures(1000);
  std::vector<std::int32_t> labels(1000);
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures.data()[i] = std::uint8_t(i % 251);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i % 10);

  // region sets
  const data::TensorDataset set{pictures, labels};  // (N, channels, height, width), or (N, features)
  const auto [train, valid] = data::random_split(set, {0.9, 0.1}, Seed{1});
  const data::Subset some{set, {0, 7, 7}};
  const data::ConcatDataset both{train, some};
  // endregion
  std::printf("%zu + %zu, %zu\n", train.size(), valid.size(), both.size());

  // region transforms
  const data::Normalize normalize{{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};
  const data::Compose augment{data::RandomCrop<32>{.padding = 4}, data::RandomHorizontalFlip{},
                              data::ToTensor{}, normalize, data::RandomErasing{.p = 0.25f}};
  // endregion
  // region loader
  data::DataLoader loader{train, augment, {.batch_size = 64, .shuffle = true, .num_workers = 2}};
  for (const auto& batch : loader) {
    std::printf("%s\n", shape_string(batch.images.shape()).c_str());  // (64, 3, 32, 32)
    break;
  }
  // endregion
  // region smaller
  data::DataLoader centers{valid, data::Compose{data::CenterCrop<28>{}, data::ToTensor{}, RandomInvert{}}};
  // endregion
  std::printf("%s\n", shape_string((*centers.begin()).images.shape()).c_str());
}
