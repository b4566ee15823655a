#include "kern/graph/backend_contract.hpp"

#include <doctest/doctest.h>

#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"
#include "kern/train/cross_entropy_loss.hpp"
#include "kern/train/sgd.hpp"
#include "kern/train/twins.hpp"
#include "support/reference_backend.hpp"

using namespace kern;
using namespace kern::nn;
using testing::Reference;

static_assert(graph::IsBackend<host::Backend<float>, Host, float>);
static_assert(graph::IsBackend<host::Backend<double>, Host, double>);
static_assert(graph::IsBackend<testing::ReferenceBackend<float>, Reference, float>);
static_assert(!graph::IsBackend<testing::ReferenceBackend<float>, Host, float>, "it is made from a Host");
static_assert(!graph::Contract<testing::ReferenceBackend<float>, Reference, float, true>::kept,
              "it has no norms");
static_assert(graph::Contract<testing::ReferenceBackend<float>, Reference, float, false, true>::kept);
static_assert(graph::Contract<host::Backend<float>, Host, float, true, true>::kept);

// In double, sums of up to some hundred terms in another order differ by some 1e-14.
TEST_CASE("a backend of plain loops trains as the host's does") {
  using Net = Sequential<Conv2d<2, 6, 3, 1, 1>, ReLU, MaxPool2d<2>, Dropout2d<0.25>,
                         Concat<Conv2d<6, 3, 3>, Conv2d<6, 5, 3>>, Sigmoid,
                         Concat<Sequential<AvgPool2d<2>, Flatten>, Flatten>, Linear<40, 9>,
                         Residual<GELU<>, Dropout<0.5>, Linear<9, 9>>, Tanh, Linear<9, 5>, LogSoftmax>;
  Model<Net, Input<2, 8, 8>, Host, double> a{Seed{3}, Host{.threads = 2}};
  Model<Net, Input<2, 8, 8>, Reference, double> b{Seed{3}};
  Twins twins{a, b, CrossEntropyLoss{}, Sgd{.lr = 0.1, .momentum = 0.9}, 1e-12};
  const std::vector<std::int32_t> labels{0, 1, 2, 3, 4, 0, 1};
  for (std::uint32_t step = 1; step <= 3; ++step) {
    const auto images = randn<double, Shape<7, 2, 8, 8>>(Seed{step});
    const auto parted = twins.step(images, labels);
    CHECK_MESSAGE(!parted, (parted ? parted->text() : ""));
  }
}
