// error: only pointwise transforms run on a GPU
// A data set on a device, and a transform that looks at more than a byte.
#include <kern/cuda/cuda.hpp>
#include <kern/kern.hpp>
using namespace kern;

struct Pictures {
  using Sample = Shape<1, 2, 2>;
  std::size_t size() const { return 1; }
  data::Record get(std::size_t) const { return {bytes, 0}; }
  int classes() const { return 1; }
  static constexpr std::uint8_t bytes[4] = {};
};
struct Flip {
#ifdef FIXED
  static constexpr bool pointwise = true;
#endif
  void operator()(data::Image&, const data::TransformDraw&) const {}
};

int main() {
  auto loader = data::make_loader(Cuda{}, Pictures{}, data::Compose{data::ToTensor{}, Flip{}});
  return int(loader.size());
}
