#include "kern/graph/model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "kern/nn/nn.hpp"
#include "kern/tensor/random.hpp"

using namespace kern;
using namespace kern::nn;

using Net = Sequential<Named<"conv", Conv2d<2, 5, 3, 1, 1>>, ReLU, MaxPool2d<2>, Flatten,
                       Named<"fc", Linear<60, 7, Bias::off>>>;
using In = Input<2, 6, 8>;

TEST_CASE("parameters by name come in PyTorch's layout and go back unchanged") {
  Model<Net, In> model{Seed{4}};
  CHECK(model.parameter_names() == std::vector<std::string>{"conv.weight", "conv.bias", "fc.weight"});
  CHECK(model.parameter_shape("conv.weight") == std::vector<int>{5, 2, 3, 3});
  auto w = model.parameter<"fc.weight">();
  static_assert(std::is_same_v<decltype(w)::Extents, Shape<7, 60>>);
  for (std::size_t i = 0; i < w.size(); ++i) w.data()[i] = float(i);
  model.set_parameter<"fc.weight">(w);
  const auto again = model.parameter("fc.weight");
  REQUIRE(again.size() == 420);
  for (std::size_t i = 0; i < again.size(); ++i) CHECK(again[i] == float(i));
}

TEST_CASE("parameters by run-time names are tensors where their shape is given, and are set from tensors") {
  Model<Net, In> model{Seed{4}};
  const auto w = model.parameter<Shape<dyn, dyn>>("fc.weight");
  CHECK(w.shape() == std::array{7, 60});
  const auto same = model.parameter<"fc.weight">();
  CHECK(std::equal(w.begin(), w.end(), same.begin(), same.end()));
  CHECK_THROWS_WITH_AS((model.parameter<Shape<dyn, 61>>("fc.weight")),
                       "parameter(\"fc.weight\"): expected shape (7, 60), got (dyn, 61)", ShapeError);
  CHECK_THROWS_WITH_AS((model.parameter<Shape<dyn>>("fc.weight")),
                       "parameter(\"fc.weight\"): expected shape (7, 60), got (dyn,)", ShapeError);

  const auto ones = Tensor<float, Shape<dyn, dyn>>::full(1, 7, 60);
  const auto turned = Tensor<float, Shape<60, 7>>::full(2);
  CHECK_THROWS_WITH_AS(model.set_parameter("fc.weight", turned),
                       "set_parameter(\"fc.weight\"): expected shape (7, 60), got (60, 7)", ShapeError);
  CHECK_THROWS_AS(model.set_parameter("fc.weight", turned.view()), ShapeError);
  CHECK_THROWS_AS(model.set_parameter("conv.weight", ones), ShapeError);
  CHECK(model.parameter("fc.weight") == std::vector<float>(same.begin(), same.end()));
  model.set_parameter("fc.weight", ones);
  CHECK(model.parameter("fc.weight") == std::vector<float>(420, 1.0f));
}

TEST_CASE("of many names an unknown one is told the nearest") {
  using Many = Sequential<Named<"first", Linear<2, 2>>, Named<"second", Linear<2, 2>>,
                          Named<"third", Linear<2, 2>>, Named<"head", Linear<2, 2>>>;
  Model<Many, Input<2>> model;
  // 1, 3, 4 and 5 characters apart; then 6 and 8.
  CHECK_THROWS_WITH_AS(model.parameter("thrd.bias"),
                       "no parameter is called \"thrd.bias\"; the nearest are: third.bias, head.bias, "
                       "first.bias, second.bias, third.weight, head.weight",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(model.buffer("bn.running_mean"),
                       "no buffer is called \"bn.running_mean\"; there are: none", ArgumentError);
}

TEST_CASE("branches that don't fit say where, and both shapes, at run time, too") {
  using Join = Sequential<Named<"block", Add<Conv2d<1, 2, 3, 2, 1>, Conv2d<1, 2, 1>>>>;
  CHECK_THROWS_WITH_AS((Model<erase_shapes<Join>, Input<dyn, dyn, dyn>>{Dims{1, 1, 8}}),
                       "layer 2 (block): the branches of an Add differ: width: expected 4, got 8; shapes "
                       "(2, 1, 4) and (2, 1, 8)",
                       ShapeError);
}

TEST_CASE("unknown names, wrong sizes and gradients before training are errors that say what there is") {
  Model<Net, In> model;
  CHECK_THROWS_WITH_AS(model.parameter("fc.bias"),
                       "no parameter is called \"fc.bias\"; there are: conv.bias, fc.weight, conv.weight",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(model.set_parameter("conv.bias", std::vector<float>(4)),
                       "set_parameter(\"conv.bias\"): expected 5 values, got 4", ShapeError);
  CHECK_THROWS_WITH_AS(model.gradient("conv.bias"), "there are no gradients before the first training step",
                       ArgumentError);
}

// PyTorch: U(-b, b), b = 1 / sqrt(fan_in), for weight and bias. Variance b^2 / 3; the mean of n draws has
// standard deviation b / sqrt(3 n), their mean square b^2 / sqrt(11.25 n): five of them are allowed.
TEST_CASE("initial parameters have PyTorch's distribution") {
  using Wide = Sequential<Named<"conv", Conv2d<8, 64, 3>>, Flatten, Named<"fc", Linear<64 * 36, 50>>>;
  Model<Wide, Input<8, 8, 8>> model{Seed{9}}, other{Seed{10}}, same{Seed{9}};
  for (const auto& [name, fan_in] :
       {std::pair{"conv.weight", 72}, {"conv.bias", 72}, {"fc.weight", 2304}, {"fc.bias", 2304}}) {
    CAPTURE(name);
    const auto v = model.parameter(name);
    const double b = 1 / std::sqrt(double(fan_in)), n = double(v.size());
    double sum = 0, squares = 0, most = 0;
    for (float x : v) {
      sum += double(x);
      squares += double(x) * double(x);
      most = std::max(most, std::abs(double(x)));
    }
    CHECK(most <= b * (1 + 1e-6));
    CHECK(most > b * (1 - 10 / n));  // the largest of n: beyond with probability e^-10
    CHECK(std::abs(sum / n) < 5 * b / std::sqrt(3 * n));
    CHECK(std::abs(squares / n - b * b / 3) < 5 * b * b / std::sqrt(11.25 * n));
    CHECK(v != other.parameter(name));
    CHECK(v == same.parameter(name));
  }
}

TEST_CASE("an erased net takes its input's size at run time, and says what does not fit") {
  using Erased = Model<erase_shapes<Net>, Input<dyn, dyn, dyn>>;
  Erased model{Dims{2, 6, 8}, Seed{4}};
  Model<Net, In> known{Seed{4}};
  const auto x = randn<float, Shape<dyn, 2, 6, 8>>(Seed{1}, 3);
  const auto a = model.predict(TensorView<const float, Shape<dyn, dyn, dyn, dyn>>(x.view()));
  const auto b = known.predict(x.view());
  REQUIRE(a.shape() == std::array{3, 7});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7; ++j) CHECK(a(i, j) == b(i, j));
  CHECK_THROWS_WITH_AS((Erased{Dims{2, 8, 8}}),
                       "layer 4 (fc): in_features of the linear layer: expected 80, got 60", ShapeError);
  CHECK_THROWS_WITH_AS((Erased{Dims{3, 6, 8}}),
                       "layer 0 (conv): in_channels of the convolution: expected 3, got 2", ShapeError);
  const auto wrong = randn<float, Shape<dyn, 2, 6, 9>>(Seed{1}, 3);
  CHECK_THROWS_WITH_AS(model.predict(TensorView<const float, Shape<dyn, dyn, dyn, dyn>>(wrong.view())),
                       "width of the samples: expected 8, got 9", ShapeError);
}

TEST_CASE("an erased net may be wide, flat, and know a part of its input; what it knows is checked") {
  using Wide = Sequential<Conv2d<1, 256, 3>, ReLU, MaxPool2d<2>, Conv2d<256, 64, 3>, Flatten>;
  Model<erase_shapes<Wide>, Input<1, dyn, dyn>> wide{Dims{1, 8, 9}};
  CHECK(wide.plan().output().size() == 64);
  CHECK_THROWS_WITH_AS((Model<erase_shapes<Wide>, Input<1, dyn, dyn>>{Dims{2, 8, 9}}),
                       "channels of the model's input: expected 1, got 2", ShapeError);
  CHECK_THROWS_WITH_AS((Model<erase_shapes<Wide>, Input<1, dyn, dyn>>{Dims{1, 0, 9}}),
                       "height of the model's input: expected at least 1, got 0", ShapeError);
  using Flat = Sequential<Linear<5, 3>>;
  Model<erase_shapes<Flat>, Input<dyn>> flat{Dims{5}, Seed{2}};
  Model<Flat, Input<5>> known{Seed{2}};
  const Tensor<float, Shape<1, 5>> x{1, 2, 3, 4, 5};
  const auto a = flat.predict(TensorView<const float, Shape<dyn, dyn>>(x.view()));
  const auto b = known.predict(TensorView<const float, Shape<dyn, 5>>(x.view()));
  for (int j = 0; j < 3; ++j) CHECK(a(0, j) == b(0, j));
}

TEST_CASE("sizes beyond what an int counts are named, not computed with") {
  using Small = Sequential<Conv2d<3, 4, 3>, ReLU, MaxPool2d<2>, Flatten, Linear<36, 5>>;
  using Any = Input<dyn, dyn, dyn>;
  const char* const too_large =
      "too large, in millions of elements of a sample or weight; at most: expected 1073, got ";
  const auto message = [](Dims d) {
    try {
      Model<erase_shapes<Small>, Any> model{d};
    } catch (const ShapeError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  // 50000 x 50000 inputs of 3 channels; 2^31 - 1 rows.
  CHECK(message({3, 50000, 50000}).find(std::string("layer 0 (0): ") + too_large) == 0);
  CHECK(message({3, 2147483647, 2147483647}).find(std::string("layer 0 (0): ") + too_large) == 0);
  CHECK_THROWS_WITH_AS((Model<erase_shapes<Sequential<Linear<5, 3>>>, Input<dyn>>{Dims{100000, 100000}}),
                       "features of the model's input: expected at most 2147483647, got 1e+10", ShapeError);
  // The input fits, what the convolution makes of it does not.
  using Grows = Sequential<Conv2d<1, 64, 1>>;
  try {
    Model<erase_shapes<Grows>, Any> model{Dims{1, 10000, 10000}};
    FAIL("nothing was thrown");
  } catch (const ShapeError& e) {
    CHECK(std::string(e.what()) == std::string("layer 0 (0): ") + too_large + "6400");
  }
}

TEST_CASE("a net that is one layer calls its parameters as PyTorch does") {
  Model<Linear<5, 3>, Input<5>> model;
  CHECK(model.parameter_names() == std::vector<std::string>{"weight", "bias"});
}

TEST_CASE("images come out as images, in PyTorch's layout") {
  using Copy = Sequential<Named<"conv", Conv2d<2, 3, 1, 1, 0, Bias::off>>>;
  Model<Copy, Input<2, 2, 3>> model;
  model.set_parameter("conv.weight", {1, 0, 0, 1, 1, 1});  // the first channel, the second, their sum
  const Tensor<float, Shape<1, 2, 2, 3>> x{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
  const auto y = model.predict(x.view());
  REQUIRE(y.shape() == std::array{1, 3, 2, 3});
  const float expected[] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60, 11, 22, 33, 44, 55, 66};
  for (std::size_t i = 0; i < 18; ++i) CHECK(y.data()[i] == expected[i]);
}

TEST_CASE("a model that is at work in another thread says so, and works on") {
  Model<Net, In> model;
  const auto x = randn<float, Shape<2, 2, 6, 8>>(Seed{5});
  const auto before = model.predict(x.view());
  {
    const auto work = model.executor().at_work();
    std::string said;
    std::thread other([&] {
      try {
        model.predict(x.view());
      } catch (const Error& e) {
        said = e.what();
      }
    });
    other.join();
    CHECK(said.find("this model is already at work, in another thread") == 0);
    CHECK_THROWS_AS(model.classify(x[0]), Error);
  }
  const auto after = model.predict(x.view());
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after.data()[i] == before.data()[i]);
}

TEST_CASE("classify: the first of the largest, and NaN before all, as PyTorch's argmax") {
  Model<Linear<3, 4>, Input<3>> model;
  model.set_parameter("weight", std::vector<float>(12, 0));
  const auto answer = [&](std::initializer_list<float> scores) {
    model.set_parameter("bias", scores);
    return model.classify(Tensor<float, Shape<3>>{1, 2, 3});
  };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(answer({1, 3, 3, 2}) == 1);
  CHECK(answer({1, nan, 3, nan}) == 1);
  CHECK(answer({nan, 1, 3, 2}) == 0);
}

TEST_CASE("threads below 0 are refused") {
  CHECK_THROWS_WITH_AS((Model<Net, In>{Seed{}, Host{.threads = -3}}),
                       "Host: threads: expected at least 0, got -3", ArgumentError);
}
