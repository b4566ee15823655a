// Gradients against finite differences, in double, with dropout on: for a fixed step its masks are fixed, so
// the loss is a smooth function of parameters and input but for kinks of ReLU and max-pool, which a step of
// 1e-6 rarely meets.
#include "../../examples/snippets/softsign.hpp"

#include <doctest/doctest.h>

#include "kern/graph/model.hpp"
#include "kern/nn/nn.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;

namespace {

/// L = sum of y * g for fixed random g. Central differences with step h are off by h^2 |L'''| / 6 + eps |L| /
/// h: about 1e-9 here, with h = 1e-6 and |L| of some tens.
template <class Net, class In>
void check_gradients(const char* name, int batch = 3) {
  CAPTURE(name);
  Model<Net, In, TestDevice, double> model{Seed{11}, test_device(1)};
  fill(model);
  auto& e = model.executor();
  using Executor = std::remove_reference_t<decltype(e)>;
  const ops::Draw draw{Seed{11}, 5, true};
  auto x = formula_array<double>(1, std::size_t(batch * model.plan().input.size()));
  const Dims out = model.plan().output();
  const auto g = formula_array<double>(2, std::size_t(batch * out.size()));
  std::vector<double> y(g.size());
  auto loss = [&] {
    model.read_output(e.forward(x.data(), batch, draw), batch, y.data());
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * g[i];
    return sum;
  };
  loss();
  set_output_gradient(model, batch, g);
  e.template backward<Executor::stages, true>(batch);
  std::vector<double> dx(x.size());
  e.input_gradient(batch, dx.data());

  constexpr double h = 1e-6, tolerance = 1e-7;
  int kinks = 0, checked = 0;
  auto check = [&](double analytic, auto set, double at) {
    set(at + h);
    const double up = loss();
    set(at - h);
    const double down = loss();
    set(at);
    const double numeric = (up - down) / (2 * h);
    ++checked;
    if (std::abs(numeric - analytic) > tolerance * std::max(1.0, std::abs(analytic))) ++kinks;
  };
  for (std::size_t i = 0; i < x.size(); i += std::max<std::size_t>(1, x.size() / 40))
    check(dx[i], [&](double v) { x[i] = v; }, x[i]);
  for (const auto& p : model.parameter_names()) {
    auto values = model.parameter(p);
    const auto gradient = model.gradient(p);
    for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(1, values.size() / 40)) {
      const double at = values[i];
      check(
          gradient[i],
          [&](double v) {
            values[i] = v;
            model.set_parameter(p, values);
          },
          at);
    }
  }
  CHECK(checked > 10);
  CHECK(kinks <= checked / 100);  // a kink within h of a value: one in some 10^5, so next to none
}

}  // namespace

TEST_CASE("every layer's gradients") {
  check_gradients<Sequential<Conv2d<3, 5, Size2{3, 2}, Size2{1, 2}, Size2{0, 1}>>, Input<3, 6, 5>>("Conv2d");
  check_gradients<Sequential<Flatten, Linear<24, 19>>, Input<2, 3, 4>>("Linear");
  check_gradients<Sequential<MaxPool2d<3, 2, 1>>, Input<3, 7, 6>>("MaxPool2d");
  check_gradients<Sequential<LogSoftmax>, Input<5, 3, 2>>("LogSoftmax");
#ifndef KERN_TEST_ON_CUDA  // parts of the whole nets below: there each kernel takes a second to translate
  check_gradients<Sequential<Conv2d<2, 17, 3, 1, 1, Bias::off>, ReLU, Conv2d<17, 3, 3>>, Input<2, 6, 6>>(
      "Conv2d, unpooled");
  check_gradients<
      Sequential<Conv2d<4, 6, 2, 1, 1, Groups{2}, Dilation{2, 1}>, Tanh, Conv2d<6, 6, 3, 2, 0, Groups{6}>>,
      Input<4, 6, 5>>("Conv2d in groups");
  check_gradients<Sequential<LayerNorm<5, 3, 2>, Sigmoid, Flatten, LayerNorm<30, 1e-2, Affine::off>>,
                  Input<5, 3, 2>>("LayerNorm");
  check_gradients<Sequential<ReLU>, Input<3, 4, 5>>("ReLU");
  check_gradients<Sequential<Dropout<0.3>>, Input<3, 4, 5>>("Dropout");
  check_gradients<Sequential<Dropout2d<0.3>>, Input<9, 4, 5>>("Dropout2d");
  check_gradients<Sequential<Dropout2d<0.3>>, Input<40>>("Dropout2d, flat");
#endif
}

TEST_CASE("a user's own layer: alone, and in the registers of a convolution") {
  check_gradients<Sequential<Softsign>, Input<3, 4, 5>>("Softsign");
  check_gradients<Sequential<Conv2d<2, 5, 3>, Softsign, MaxPool2d<2>>, Input<2, 7, 6>>("Conv2d, Softsign");
  const auto one = SoftsignOp{}.bind<double>(ops::Place{}, ops::Draw{});
  const auto many = SoftsignOp{}.bind<simd::vec<double>>(
      ops::Place{}, ops::Draw{});  // compiles in nvcc's pass for a device, too
  for (const double x : {-3.0, -0.25, 0.0, 2.0}) {
    CHECK(many.forward(simd::splat(x), 0)[1] == one.forward(x, 0));
    CHECK(many.backward(simd::splat(x), simd::splat(0.5), 0)[1] == one.backward(x, 0.5, 0));
  }
}

#ifndef KERN_TEST_ON_CUDA  // long to compile there, and about the executor alone
TEST_CASE("nets that end in a log-softmax") {
  check_gradients<Sequential<Conv2d<2, 4, 3>, Flatten, LogSoftmax>, Input<2, 5, 4>>("conv, flatten", 9);
  check_gradients<Sequential<Conv2d<2, 9, 2>, ReLU, Conv2d<9, 5, 3>, ReLU, MaxPool2d<2>, Flatten, LogSoftmax>,
                  Input<2, 7, 7>>("two convs", 9);
  check_gradients<Sequential<MaxPool2d<2, 1>, Flatten, LogSoftmax>, Input<3, 4, 4>>("pool", 9);
  check_gradients<Sequential<Conv2d<2, 3, 2>, LogSoftmax, Flatten>, Input<2, 3, 4>>("over channels", 9);
}

TEST_CASE("dropout directly behind a flatten") {
  check_gradients<Sequential<Conv2d<2, 5, 2>, Flatten, Dropout<0.4>, Linear<60, 3>>, Input<2, 4, 5>>(
      "Dropout", 4);
  check_gradients<Sequential<Flatten, Dropout2d<0.4>, Linear<40, 3>>, Input<2, 4, 5>>("Dropout2d", 4);
  check_gradients<Sequential<Dropout<0.4>, Flatten, ReLU, Dropout<0.2>>, Input<2, 4, 5>>("all pointwise", 4);
}

#endif

// Dropout where a branch begins, within it, where it ends and behind it; a value that three layers read.
TEST_CASE("branches' gradients, dropout on") {
  check_gradients<
      Sequential<Conv2d<2, 5, 3, 1, 1>, Residual<Dropout2d<0.3>, Conv2d<5, 5, 3, 1, 1>, ReLU, Dropout<0.2>>,
                 ReLU, Concat<Sequential<Conv2d<5, 3, 1>, Dropout<0.3>>, Identity, AvgPool2d<3, 1, 1>>,
                 Dropout<0.2>, MaxPool2d<2>, Flatten, Residual<Dropout<0.4>, Linear<78, 78>, Tanh>,
                 Linear<78, 3>>,
      Input<2, 4, 6>>("branches", 5);
}

TEST_CASE("whole nets' gradients, dropout on") {
  check_gradients<Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 20, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>,
                             Flatten, Linear<320, 24>, ReLU, Dropout<0.5>, Linear<24, 10>, LogSoftmax>,
                  Input<1, 12, 12>>("LeNet in small", 5);
#ifndef KERN_TEST_ON_CUDA
  check_gradients<Sequential<Conv2d<3, 8, 5, 1, 2>, Dropout<0.2>, MaxPool2d<2>, Conv2d<8, 6, 3, 2, 1>, ReLU,
                             Dropout2d<0.4>, Flatten, Dropout<0.1>, Linear<54, 4>>,
                  Input<3, 11, 10>>("dropout between convolution and pooling");
#endif
  check_gradients<erase_shapes<Sequential<Conv2d<1, 16, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>, Flatten,
                                          Linear<400, 24>, ReLU, Dropout<0.5>, Linear<24, 10>>>,
                  Input<1, 12, 12>>("erased");
}
