#include <cstdio>
#include <kern/tensor/print.hpp>

using namespace kern;

// Takes tensors and views of any number of rows, and copies nothing.
float sum(TensorView<const float, Shape<dyn, 3>> rows) {
  float s = 0;
  for (float x : rows) s += x;
  return s;
}

int main() {
  Tensor<float, Shape<2, 3>> t{1, 2, 3, 4, 5, 6};
  t(1, 2) = 60;                                    // checked in debug builds
  t.at(0, 0) = 10;                                 // always checked
  t[1].fill(4);                                    // a row, as a view
  const auto column = t.reshape<Shape<dyn, 1>>();  // the same elements in another shape
  std::printf("%g\n%s\n", double(sum(t)), to_string(column).c_str());

  auto other = t.clone();  // copies are made by name; moving is free
  other.fill(0);
  other.copy_from(t);  // between equal shapes

  float pixels[4] = {0, 0.25f, 0.5f, 1};
  const TensorView<float, Shape<dyn, 2>> image(pixels, 2);  // elements that someone else owns
  const TensorView<float, Shape<2, 2>> known(image);        // dyn to known: explicit, and checked
  std::puts(to_string(known).c_str());
}
