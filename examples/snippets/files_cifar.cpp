#include <cstdio>
#include <kern/kern.hpp>

using namespace kern;

int main(int argc, char** argv) try {
  // region load
  const data::Compose transform{data::ToTensor{},
                                data::Normalize{{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}}};
  data::DataLoader train{data::Cifar10{argc > 1 ? argv[1] : "cifar", data::Split::train},
                         transform,
                         {.batch_size = 64, .shuffle = true}};
  // endregion
  std::printf("%zu batches; the first picture: %s\n", train.size(),
              data::Cifar10::class_names[train.dataset().get(0).label]);
} catch (const Error& e) {
  std::printf("%s\n", e.what());
}
