// error: transform_lacks_call<Negative void Image TransformDraw
// A transform that is no const function object.
#include <kern/data/loader.hpp>
#include <kern/data/synthetic.hpp>
using namespace kern;

struct Negative {
#ifdef FIXED
  void operator()(data::Image& image, const data::TransformDraw&) const {
#else
  void operator()(data::Image& image, const data::TransformDraw&) {
#endif
      for (std::size_t i = 0; i < image.area(); ++i) image.values[i] = 1 - image.values[i];
}
}
;

int main() {
  auto loader = data::make_loader(Host{}, data::SyntheticShapes{8},
                                  data::Compose{data::ToTensor{}, Negative{}}, {.batch_size = 2});
  return int(loader.size());
}
