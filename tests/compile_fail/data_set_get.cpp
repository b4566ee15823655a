// error: data_set_member_has_another_type<Plane set_member::get expects_type Record gets_type float
// A data set whose samples are no records.
#include <kern/data/loader.hpp>
#include <kern/data/subset.hpp>
using namespace kern;

struct Plane {
  using Sample = Shape<1>;
  float x[1]{};
  std::size_t size() const { return 4; }
  int classes() const { return 2; }
#ifdef FIXED
  data::Record get(std::size_t) const { return {.pixels = {}, .label = 1, .values = x}; }
#else
  float get(std::size_t) const { return x[0]; }
#endif
};

int main() {
  const auto parts = data::random_split(Plane{}, {0.5, 0.5});
  auto loader = data::make_loader(Host{}, parts[0], {.batch_size = 2});
  std::size_t n = 0;
  for (const auto& batch : loader) n += batch.labels.size();
  return int(n);
}
