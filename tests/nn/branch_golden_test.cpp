// Branches against PyTorch's: forward, all gradients, running statistics, inference.
#include "kern/graph/facts.hpp"
#include "norms_golden.hpp"
#include "support/counting_backend.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

template <class In, class... Layers>
void check_branches(const char* name, int batch) {
  using Net = Sequential<Layers...>;
  const auto one = check_norms_in<Net, In, float>("branches.txt", name, batch, 1);
#ifndef KERN_TEST_FLOAT_ONLY
  CHECK(check_norms_in<Net, In, float>("branches.txt", name, batch, 3) == one);
  CHECK(check_norms_in<erase_shapes<Net>, In, float>("branches.txt", name, batch, 2) == one);
#endif
}

}  // namespace

// The second block's branches want different paddings of what they read.
TEST_CASE("a small ResNet") {
  check_branches<
      Input<3, 6, 7>, Conv2d<3, 5, 3, 1, 1>, BatchNorm2d<5>, ReLU,
      Residual<Conv2d<5, 5, 3, 1, 1, Bias::off>, BatchNorm2d<5>, ReLU, Conv2d<5, 5, 3, 1, 1, Bias::off>,
               BatchNorm2d<5>>,
      ReLU,
      Add<Sequential<Conv2d<5, 9, 3, 2, 1>, BatchNorm2d<9>, ReLU, Conv2d<9, 9, 3, 1, 1>, BatchNorm2d<9>>,
          Sequential<Conv2d<5, 9, 1, 2, 0, Bias::off>, BatchNorm2d<9>>>,
      ReLU, GlobalAvgPool2d, Flatten, Linear<9, 4>>("resnet", 5);
}

// 3 + 5 and 3 + 6 + 6 channels: none begins where a register does.
TEST_CASE("channels behind each other, from the net's input on") {
  check_branches<Input<3, 5, 6>, Concat<Conv2d<3, 3, 3, 1, 1>, Sequential<Conv2d<3, 5, 1>, ReLU>>, Tanh,
                 Conv2d<8, 6, 3, 1, 1>, Concat<Conv2d<6, 3, 1>, MaxPool2d<3, 1, 1>, Identity>, ReLU, Flatten,
                 Linear<450, 4>>("concat", 4);
}

// The second branch runs before the first, which has a linear layer; the third reads the input behind both.
TEST_CASE("flattened images of different sizes behind each other") {
  check_branches<
      Input<3, 4, 5>,
      Concat<Sequential<Flatten, Linear<60, 7>, ReLU>, Sequential<Conv2d<3, 2, 3>, ReLU, Flatten>, Flatten>,
      BatchNorm1d<79>, SiLU, Linear<79, 5>>("flattened", 6);
}

#ifndef KERN_TEST_ON_CUDA  // long to compile there, with kernels that the others have, too
TEST_CASE("branches in branches, with ops that need their input; a residual is last") {
  check_branches<Input<2, 6, 8>, Conv2d<2, 5, 3, 1, 1>,
                 Residual<Residual<Conv2d<5, 5, 3, 1, 1>, ReLU>, BatchNorm2d<5>, GELU<>,
                          Add<Identity, Sequential<Softmax, Conv2d<5, 5, 3, 1, 1>>>>,
                 MaxPool2d<2>, Residual<ReLU>>("nested", 3);
}

TEST_CASE("branches of linear layers") {
  check_branches<Input<6>, Linear<6, 9>, Residual<Linear<9, 9>, Tanh, Residual<BatchNorm1d<9>, Linear<9, 9>>>,
                 ReLU, Add<Linear<9, 3>, Linear<9, 3>, Sequential<ReLU, Linear<9, 3>>>>("flat", 5);
}

TEST_CASE("a residual of the net's input; a sum of flattened images of different sizes is last") {
  check_branches<
      Input<3, 5, 4>, Residual<Conv2d<3, 3, 3, 1, 1>>,
      Add<Sequential<Conv2d<3, 4, Size2{2, 1}>, Flatten>, Sequential<Conv2d<3, 16, Size2{4, 3}>, Flatten>>>(
      "input", 3);
}

// In inference three convolutions add the other branch: behind a ReLU, before one, and before a pooling.
TEST_CASE("sums behind convolutions") {
  check_branches<Input<3, 9, 8>, Conv2d<3, 12, 3, 1, 1>, ReLU,
                 Residual<Conv2d<12, 12, 3, 1, 1, Groups{4}>, ReLU>,
                 Add<Conv2d<12, 10, 3, 2, 1>, Conv2d<12, 10, 1, 2>>, ReLU,
                 Add<Sequential<Conv2d<10, 10, 3, 1, 1>, BatchNorm2d<10>, Tanh>, Identity>, MaxPool2d<2>,
                 Flatten, Linear<40, 4>>("sums", 4);
}
#endif

// Two workers, chunks of 4 samples, at most 64 parts of a batch's sums: from 64 samples on all grows alike.
TEST_CASE("memory for training grows with the batch as is said of the net") {
  const auto check = []<class Net, class In>(std::type_identity<Net>, std::type_identity<In>) {
    CHECK(growth<Net, In>(64) == 64 * workspace_bytes<Net, In, TestDevice>);
  };
  using Branches =
      Sequential<Conv2d<3, 5, 3, 1, 1>, MaxPool2d<2>,
                 Residual<Conv2d<5, 5, 3, 1, 1>, BatchNorm2d<5>, ReLU, Conv2d<5, 5, 3, 1, 1>>, GELU<>,
                 LayerNorm<5, 4, 4>, Concat<Flatten, Sequential<GlobalAvgPool2d, Flatten>>, Linear<85, 4>>;
  using Chain = Sequential<Conv2d<3, 5, 3>, ReLU, Flatten, Linear<180, 4>>;
  check(std::type_identity<Branches>{}, std::type_identity<Input<3, 8, 8>>{});
  check(std::type_identity<Chain>{}, std::type_identity<Input<3, 8, 8>>{});
}
