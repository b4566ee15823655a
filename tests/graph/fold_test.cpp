#include "kern/graph/fold.hpp"

#include <doctest/doctest.h>

#include "kern/graph/explain.hpp"
#include "kern/graph/facts.hpp"
#include "kern/graph/parameters.hpp"
#include "kern/graph/structure.hpp"
#include "kern/graph/summary.hpp"
#include "kern/nn/nn.hpp"

using namespace kern;
using namespace kern::nn;
using graph::Boundary;
using graph::Kind;

using LeNet = Sequential<Named<"conv1", Conv2d<1, 16, 3>>, ReLU, Named<"conv2", Conv2d<16, 32, 3>>, ReLU,  //
                         MaxPool2d<2>, Dropout2d<0.25>, Flatten,                                           //
                         Named<"fc1", Linear<4608, 128>>, ReLU, Dropout<0.5>, Named<"fc2", Linear<128, 10>>,
                         LogSoftmax>;
using Image = Input<1, 28, 28>;

// 16*1*9 + 16 + 32*16*9 + 32 + 4608*128 + 128 + 128*10 + 10, as PyTorch counts; shapes by its formulas.
static_assert(param_count<LeNet, Image> == 596'042);
static_assert(shape_after<LeNet, Image, -1> == Dims{1, 28, 28});
static_assert(shape_after<LeNet, Image, 0> == Dims{16, 26, 26});
static_assert(shape_after<LeNet, Image, 4> == Dims{32, 12, 12});
static_assert(shape_after<LeNet, Image, 6>.rank() == 1 && shape_after<LeNet, Image, 6>.size() == 4608);
static_assert(shape_after<LeNet, Image> == Dims{10, 1, 1, true});
static_assert(flop_count<LeNet, Image> ==
              2L * (26 * 26 * 16 * 9 + 24 * 24 * 32 * 16 * 9 + 4608 * 128 + 128 * 10));

// Strides, padding, rectangles: PyTorch's floor((n + 2 p - k) / s) + 1.
using Odd = Sequential<Conv2d<3, 5, Size2{3, 5}, Size2{2, 1}, Size2{1, 2}, Bias::off>, MaxPool2d<3, 2, 1>,
                       MaxPool2d<Size2{3, 1}, 1>>;
static_assert(shape_after<Odd, Input<3, 11, 9>, 0> == Dims{5, 6, 9});
static_assert(shape_after<Odd, Input<3, 11, 9>, 1> == Dims{5, 3, 5});
static_assert(shape_after<Odd, Input<3, 11, 9>, 2> == Dims{5, 1, 5});
static_assert(param_count<Odd, Input<3, 11, 9>> == 5 * 3 * 3 * 5);
// pooling 3 stride 1 over a picture of 20 x 1
static_assert(shape_after<Sequential<MaxPool2d<Size2{3, 1}, 1>>, Input<1, 20, 1>> == Dims{1, 18, 1});

namespace {
template <class Net, class In>
constexpr auto& plan_of = graph::plan<Net, In, host::Backend<float>>;
template <class Net, class In>
ShapeFault fault_of() {
  return graph::make_plan<Net>(In::dims, graph::layout_of<host::Backend<float>>).fault;
}
}  // namespace

TEST_CASE("LeNet is five stages: two convolutions, two products, the log-softmax") {
  constexpr auto& p = plan_of<LeNet, Image>;
  REQUIRE(p.stages == 5);
  CHECK(p.stage[0].kind == Kind::contraction);
  CHECK(p.stage[1].kind == Kind::contraction);
  CHECK(p.stage[1].first == 2);
  CHECK(p.stage[1].last == 7);  // relu, pool, dropout and flatten ride along
  CHECK(p.stage[1].contraction.pool_h == 2);
  CHECK(p.stage[2].kind == Kind::dense);
  CHECK(p.stage[2].dense.k == 4608);
  CHECK(p.stage[4].kind == Kind::softmax);
  CHECK(p.chunked == 2);
  CHECK(p.stage[0].boundary == Boundary::contraction_reads);
  CHECK(p.stage[1].boundary == Boundary::dense_reads);
  CHECK(p.stage[3].boundary == Boundary::softmax_reads);
}

TEST_CASE("a pooling joins the convolution only where that is exact") {
  using Overlap = Sequential<Conv2d<1, 4, 3>, MaxPool2d<3, 2>>;
  CHECK(plan_of<Overlap, Image>.stages == 2);
  CHECK(plan_of<Overlap, Image>.stage[0].boundary == Boundary::windows_overlap);
  using Padded = Sequential<Conv2d<1, 4, 3>, MaxPool2d<2, 2, 1>>;
  CHECK(plan_of<Padded, Image>.stage[0].boundary == Boundary::windows_overlap);
  using Random =
      Sequential<Conv2d<1, 4, 3>, Dropout<0.5>, MaxPool2d<2>>;  // single elements: order is not kept
  CHECK(plan_of<Random, Image>.stage[0].boundary == Boundary::not_monotone);
  using Channels =
      Sequential<Conv2d<1, 4, 3>, Dropout2d<0.5>, ReLU, MaxPool2d<2>>;  // a factor >= 0 for all of a channel
  CHECK(plan_of<Channels, Image>.stages == 1);
  using Twice = Sequential<Conv2d<1, 4, 3>, MaxPool2d<2>, MaxPool2d<2>>;
  CHECK(plan_of<Twice, Image>.stages == 2);
  CHECK(plan_of<Twice, Image>.stage[0].boundary == Boundary::pooled_twice);
  using Large = Sequential<Conv2d<1, 4, 3>, MaxPool2d<13>>;
  CHECK(plan_of<Large, Image>.stage[0].boundary == Boundary::window_too_large);
}

TEST_CASE("an activation joins the stage before it unless its derivative would miss something") {
  using Output = Sequential<Conv2d<1, 4, 3>, Tanh, MaxPool2d<2>, Dropout<0.5>>;  // dropout can be undone
  CHECK(plan_of<Output, Image>.stages == 1);
  using Hidden = Sequential<Conv2d<1, 4, 3>, Tanh, ReLU>;  // tanh's output is gone where it is negative
  CHECK(plan_of<Hidden, Image>.stages == 2);
  CHECK(plan_of<Hidden, Image>.stage[0].boundary == Boundary::output_hidden);
  CHECK(plan_of<Hidden, Image>.stage[1].kind == Kind::pointwise);
  using Needed = Sequential<Conv2d<1, 4, 3>, ReLU, GELU<>, Tanh, ReLU>;  // a pointwise stage keeps its input
  CHECK(plan_of<Needed, Image>.stages == 2);
  CHECK(plan_of<Needed, Image>.stage[0].boundary == Boundary::input_needed);
  CHECK(plan_of<Sequential<Conv2d<1, 4, 3>, AvgPool2d<2>>, Image>.stage[0].boundary == Boundary::mean_reads);
}

TEST_CASE("a convolution's padding is a border that the stage before it keeps") {
  using Net = Sequential<Conv2d<1, 4, 3, 1, 1>, ReLU, Conv2d<4, 4, 5, 1, 2>>;
  constexpr auto& p = plan_of<Net, Image>;
  CHECK(p.input_border_h == 1);
  CHECK(p.stage[0].contraction.h == 30);
  CHECK(p.stage[0].contraction.border_h == 2);
  CHECK(p.stage[1].contraction.h == 32);
  CHECK(p.stage[1].contraction.border_w == 0);
}

// PyTorch's floor((n + 2 p - d (k - 1) - 1) / s) + 1; a weight has in / groups channels.
using Mobile = Sequential<Conv2d<3, 8, 3, 2, 2, Dilation{2}>, ReLU,
                          Named<"dw", Conv2d<8, 8, 3, 1, 1, Groups{8}, Bias::off>>, BatchNorm2d<8>, ReLU,
                          Conv2d<8, 6, 1, 1, 0, Groups{2}>, MaxPool2d<2>>;
static_assert(shape_after<Mobile, Input<3, 15, 12>, 0> == Dims{8, 8, 6});
static_assert(param_count<Mobile, Input<3, 15, 12>> == 8 * 3 * 9 + 8 + 8 * 9 + 16 + 6 * 4 + 6);
static_assert(flop_count<Mobile, Input<3, 15, 12>> == 2 * 8 * 6 * (8 * 27 + 8 * 9 + 6 * 4));

TEST_CASE("convolutions in groups are stages of their own; norms are folded into them in inference") {
  using In = Input<3, 15, 12>;
  constexpr auto& p = plan_of<Mobile, In>;
  REQUIRE(p.stages == 5);
  CHECK(p.stage[0].kind == Kind::grouped);
  CHECK(p.stage[0].boundary == Boundary::grouped_reads);
  CHECK(p.stage[0].grouped.border_h == 1);
  CHECK(p.stage[1].grouped.depthwise());
  CHECK(p.stage[3].boundary == Boundary::pooled_twice);
  CHECK(summary<Mobile, In>().find(
            "dw: Conv2d(8, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=8, "
            "bias=False)") != std::string::npos);
  const std::string e = explain<Mobile, In>();
  CHECK(e.find("stage 0: dilated convolution  (3, 15, 12) -> (8, 8, 6)") != std::string::npos);
  CHECK(e.find("stage 1: depthwise convolution") != std::string::npos);
  CHECK(e.find("stage 3: grouped convolution") != std::string::npos);
  CHECK(e.find("3 is folded into the weights of dw") != std::string::npos);
  const ShapeFault f = fault_of<Sequential<Conv2d<4, 6, 3, 1, 0, Groups{4}>>, Input<4, 8, 8>>();
  CHECK(f.kind == Mismatch::conv_out_groups);
  CHECK(f.expects == 6);
  CHECK(f.gets == 4);
  const ShapeFault large = fault_of<Sequential<Conv2d<4, 6, 3, 1, 0, Dilation{4}>>, Input<4, 8, 9>>();
  CHECK(large.kind == Mismatch::window_larger_than_input);
  CHECK(large.expects == 8);
  CHECK(large.gets == 9);
}

TEST_CASE("an embedding is the first stage: an image of its vectors, one below the other") {
  using Net = Sequential<Embedding<100, 6, -1>, Dropout<0.5>, Conv2d<6, 4, Size2{3, 1}, 1, Size2{1, 0}>>;
  constexpr auto& p = plan_of<Net, Input<12>>;
  REQUIRE(p.stages == 2);
  CHECK(p.stage[0].kind == Kind::lookup);
  CHECK(p.stage[0].lookup.border_h == 1);
  CHECK(p.stage[0].lookup.padding == 99);
  CHECK(p.input_cols == 12);
  CHECK(p.dims[0] == Dims{6, 12, 1});
  CHECK(p.parameters == 100 * 6 + 4 * 6 * 3 + 4);
  CHECK(summary<Net, Input<12>>().find("0: Embedding(100, 6, padding_idx=99)") != std::string::npos);
  CHECK(explain<Net, Input<12>>().find("stage 0: embedding  (12) -> (6, 12, 1)") != std::string::npos);
  CHECK(fault_of<Sequential<Embedding<9, 2>>, Input<3, 4, 4>>().kind == Mismatch::embedding_needs_flat);
  CHECK(fault_of<Sequential<Flatten, Embedding<9, 2>>, Input<3>>().kind == Mismatch::embedding_not_first);
}

TEST_CASE("a layer normalisation is a stage that takes the ops behind it along") {
  using Net = Sequential<Conv2d<1, 4, 3>, LayerNorm<4, 26, 26>, ReLU, Flatten, Linear<2704, 5>, LayerNorm<5>>;
  constexpr auto& p = plan_of<Net, Image>;
  REQUIRE(p.stages == 4);
  CHECK(p.stage[0].boundary == Boundary::row_norm_reads);
  CHECK(p.stage[1].kind == Kind::row_norm);
  CHECK(p.stage[1].last == 4);
  CHECK(p.stage[1].row_norm.eps() == 1e-5);
  CHECK(p.chunked == 2);
  CHECK(summary<Net, Image>().find("1: LayerNorm((4, 26, 26), eps=1e-05, elementwise_affine=True)") !=
        std::string::npos);
  CHECK(explain<Net, Image>().find("stage 1: layer normalisation  (4, 26, 26) -> (2704)") !=
        std::string::npos);
}

TEST_CASE("faults name the layer and both numbers") {
  const ShapeFault f = fault_of<Sequential<Flatten, Linear<784, 10>, Linear<12, 3>>, Image>();
  CHECK(f.kind == Mismatch::linear_in_features);
  CHECK(f.layer == 2);
  CHECK(f.expects == 10);
  CHECK(f.gets == 12);
  CHECK(fault_of<Sequential<Conv2d<1, 4, 3>, ReLU>, Image>().kind == Mismatch::none);
}

TEST_CASE("parameters have PyTorch's names") {
  using Net = Sequential<
      Named<"features", Sequential<Conv2d<1, 4, 3>, ReLU, Named<"last", Conv2d<4, 4, 3, 1, 0, Bias::off>>>>,
      Flatten, Linear<2304, 10>>;
  const auto& slots = graph::parameter_slots<Net>;
  REQUIRE(slots.size() == 5);
  CHECK(std::string(slots[0].name.text) == "features.0.weight");
  CHECK(std::string(slots[1].name.text) == "features.0.bias");
  CHECK(std::string(slots[2].name.text) == "features.last.weight");
  CHECK(std::string(slots[3].name.text) == "2.weight");
  CHECK(graph::find_parameter<Net>("2.bias") == 4);
  CHECK(graph::find_parameter<Net>("3.bias") == -1);
  CHECK(graph::first_duplicate<Sequential<Named<"a", Conv2d<1, 1, 1>>, Named<"a", Conv2d<1, 1, 1>>>>() == 2);
}

TEST_CASE("summary and explain say what the plan says") {
  const std::string s = summary<LeNet, Image>();
  CHECK(s.find("fc1: Linear(in_features=4608, out_features=128, bias=True)") != std::string::npos);
  CHECK(s.find("(32, 12, 12)") != std::string::npos);
  CHECK(s.find("2,654,208") != std::string::npos);
  CHECK(s.find("Parameters: 596,042") != std::string::npos);
  CHECK(s.find("FLOPs a sample: 6.69 M") != std::string::npos);
  const std::string e = explain<LeNet, Image>();
  CHECK(e.find("5 stages for 12 layers") != std::string::npos);
  CHECK(e.find("stage 1: convolution and pooling  (16, 26, 26) -> (4608)") != std::string::npos);
  CHECK(e.find("ends here: the next layer sums over the whole sample") != std::string::npos);
  CHECK(e.find("ends here: the softmax sums over a row") != std::string::npos);
  const std::string overlap = explain<Sequential<Conv2d<1, 4, 3>, MaxPool2d<3, 2>>, Image>();
  CHECK(overlap.find("ends here: the next pooling's windows overlap") != std::string::npos);
}

namespace {
using Block = Sequential<
    Conv2d<3, 8, 3, 1, 1>, ReLU,
    Add<Sequential<Named<"conv1", Conv2d<8, 8, 3, 2, 1>>, ReLU, Named<"conv2", Conv2d<8, 8, 3, 1, 1>>>,
        Named<"shortcut", Conv2d<8, 8, 1, 2>>>,
    ReLU, Residual<Conv2d<8, 8, 3, 1, 1>, Residual<Named<"inner", Conv2d<8, 8, 3, 1, 1>>>>, Flatten,
    Linear<128, 10>>;
}  // namespace

TEST_CASE("branches read one stage, and a join takes the ops behind it along") {
  constexpr auto& p = plan_of<Block, Input<3, 8, 8>>;
  REQUIRE(p.stages == 11);
  CHECK(p.stage[0].boundary == Boundary::shared);
  CHECK(p.stage[0].contraction.border_h == 0);  // its readers want different borders:
  CHECK(p.stage[1].is_copy());                  // a copy for conv1
  CHECK(p.stage[1].pointwise.border_h == 1);
  CHECK(p.stage[2].reads.first == 1);
  CHECK(p.stage[3].boundary == Boundary::joined);
  CHECK(p.stage[4].reads.first == 0);  // shortcut
  CHECK(p.stage[5].kind == Kind::join);
  CHECK(p.stage[5].reads.first == 3);
  CHECK(p.stage[5].reads.second == 4);
  CHECK(p.stage[5].last == 8);                // with the ReLU
  CHECK(p.stage[5].pointwise.border_h == 1);  // what all that convolve it want
  CHECK(p.stage[6].contraction.border_h == 1);
  CHECK(p.stage[8].reads.first == 6);  // the inner residual: its input, and what it made of it
  CHECK(p.stage[8].reads.second == 7);
  CHECK(p.stage[8].boundary == Boundary::joined);
  CHECK(p.stage[9].reads.first == 5);
  CHECK(p.stage[9].reads.second == 8);
}

TEST_CASE("in inference a convolution adds the other branch to what it has in registers") {
  constexpr auto& t = plan_of<Block, Input<3, 8, 8>>;
  constexpr auto p = graph::make_plan<Block>(Dims{3, 8, 8}, graph::layout_of<host::Backend<float>>, true,
                                             graph::Mode::inference);
  REQUIRE(p.stages == 9);              // two of three sums; the outermost has no convolution left
  CHECK(p.stage[4].reads.first == 0);  // shortcut
  CHECK(p.stage[4].reads.second == 3);
  CHECK(p.stage[4].last == 8);                  // with the sum and the ReLU
  CHECK(p.stage[4].contraction.border_h == 1);  // what all that convolve it want
  CHECK(p.stage[5].reads.first == 4);
  CHECK(p.stage[6].reads.second == 5);
  CHECK(p.stage[7].kind == Kind::join);
  // What a sum less writes, and reads again: 4 x 4 pixels, of 8 channels as stored, with a border of 1 or
  // not.
  const int written = t.stage[4].out_size(), inner = t.stage[7].out_size();
  const double saved = graph::moved_bytes(t, 4) - graph::moved_bytes(p, 4);
  CHECK(saved == 4. * (2 * written + 2 * inner));
  const std::string s = explain<Block, Input<3, 8, 8>>();
  CHECK(s.find("shortcut adds the other branch to what it has in registers") != std::string::npos);

  // A concatenation, a pooled convolution, one that more read, a linear layer and the net's input don't.
  const auto stages = []<class In, class... L>(std::type_identity<In>, std::type_identity<Sequential<L...>>) {
    return graph::make_plan<Sequential<L...>>(In::dims, graph::layout_of<host::Backend<float>>, true,
                                              graph::Mode::inference)
        .stages;
  };
  using Small = std::type_identity<Input<3, 8, 8>>;
  CHECK(stages(Small{}, std::type_identity<Sequential<ReLU, Concat<Conv2d<3, 3, 1>, Identity>>>{}) == 3);
  CHECK(stages(Small{},
               std::type_identity<
                   Sequential<ReLU, Add<Sequential<Conv2d<3, 3, 1>, MaxPool2d<2>>, MaxPool2d<2>>>>{}) == 4);
  CHECK(stages(Small{}, std::type_identity<Sequential<Conv2d<3, 3, 1>, Residual<Identity>>>{}) == 2);
  CHECK(stages(Small{}, std::type_identity<Sequential<Residual<Conv2d<3, 3, 1>>>>{}) == 2);
  CHECK(stages(std::type_identity<Input<5>>{},
               std::type_identity<Sequential<ReLU, Residual<Linear<5, 5>>>>{}) == 3);
}

// What does not wait for a linear layer runs before it, a few samples at a time.
TEST_CASE("a branch with a linear layer runs behind the others") {
  using Net =
      Sequential<Concat<Sequential<Flatten, Linear<12, 5>>, Sequential<Conv2d<3, 4, 2>, ReLU, Flatten>>,
                 Linear<9, 2>>;
  constexpr auto& p = plan_of<Net, Input<3, 2, 2>>;
  REQUIRE(p.stages == 4);
  CHECK(p.chunked == 1);
  CHECK(p.stage[0].kind == Kind::contraction);
  CHECK(p.stage[1].kind == Kind::dense);
  CHECK(p.stage[1].reads.first == nn::Reads::input);
  CHECK(p.late_input);
  CHECK(p.stage[2].reads.first == 1);
  CHECK(p.stage[2].reads.second == 0);
}

// A sum behind a convolution of the net's input reads that, too: it has to be stored.
namespace {
struct ReadsSamples : host::Backend<float> {
  template <class Numbers>
  static constexpr bool reads_samples = std::is_same_v<Numbers, stage::Contraction>;
};
template <class... Layers>
constexpr bool read_as_they_come =
    graph::Structure<Sequential<Layers...>, Input<1, 28, 28>, false,
                     ReadsSamples>::template reads_samples<graph::Mode::training>;
static_assert(read_as_they_come<Conv2d<1, 2, 3>, ReLU>);
static_assert(read_as_they_come<Concat<Conv2d<1, 2, 3>, Conv2d<1, 5, 3>>>);
static_assert(!read_as_they_come<Concat<Conv2d<1, 2, 1>, Identity>>);
static_assert(!read_as_they_come<Residual<Conv2d<1, 1, 1>>>);
}  // namespace

TEST_CASE("shapes of branches") {
  using Net = Sequential<Concat<Conv2d<3, 5, 3, 1, 1>, Identity, Sequential<ReLU, Conv2d<3, 2, 1>>>>;
  CHECK(shape_after<Net, Input<3, 4, 5>> == Dims{10, 4, 5});
  using Flat = Sequential<Concat<Flatten, Sequential<MaxPool2d<2>, Flatten>>>;
  CHECK(shape_after<Flat, Input<3, 4, 6>> == Dims{90, 1, 1, true});
  const auto fault = [](auto net) { return fault_of<decltype(net), Input<3, 4, 6>>(); };
  const ShapeFault rank = fault(Sequential<Concat<Flatten, Identity>>{});
  CHECK(rank.kind == Mismatch::concat_shape);
  CHECK(rank.expects == 1);
  CHECK(rank.gets == 3);
  const ShapeFault width = fault(Sequential<Residual<Conv2d<3, 3, Size2{1, 2}>>>{});
  CHECK(width.kind == Mismatch::residual_shape);
  CHECK(width.expects == 6);
  CHECK(width.gets == 5);
  CHECK(width.extent == ShapeExtent::width);
  CHECK(fault(Sequential<Add<Flatten, Sequential<Flatten, Linear<72, 71>>>>{}).gets == 71);
}

TEST_CASE("parameters in branches are named as PyTorch's modules would") {
  std::string names;
  for (const auto& s : graph::parameter_slots<Block>)
    if (s.index == 0) names += std::string(s.name.text) + " ";
  CHECK(names ==
        "0.weight 2.0.conv1.weight 2.0.conv2.weight 2.shortcut.weight 4.0.weight 4.1.inner.weight 6.weight ");
}

TEST_CASE("an empty name is no level") {
  using Net = Sequential<Named<"block", Sequential<Named<"", Residual<Named<"a", ReLU>, Conv2d<1, 1, 1>>>>>>;
  CHECK(graph::find_parameter<Net>("block.1.weight") == 0);
  CHECK(graph::find_parameter<Sequential<Named<"", Conv2d<1, 1, 1>>>>("bias") == 1);
}

TEST_CASE("summary and explain know branches") {
  const std::string s = summary<Block, Input<3, 8, 8>>();
  CHECK(s.find("\n2: Add() ") != std::string::npos);
  CHECK(s.find("\n4.1: Residual(x + f(x)) ") != std::string::npos);
  const std::string e = explain<Block, Input<3, 8, 8>>();
  CHECK(
      e.find("ends here: more than one layer reads it\n\nstage 1: copy  (8, 8, 8) -> (8, 8, 8)\n"
             "    before 2.0.conv1: Conv2d(8, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))\n"
             "  stands alone: the layer's padding is a border of zeros around its input, and the layers that "
             "read this want different ones\n  FLOPs") != std::string::npos);
  CHECK(e.find("stage 4: convolution  (8, 8, 8) -> (8, 4, 4)\n    2.shortcut") != std::string::npos);
  CHECK(e.find("stage 5: sum  (8, 4, 4) and (8, 4, 4) -> (8, 4, 4)\n    2: Add()\n    3: ReLU()\n") !=
        std::string::npos);
  CHECK(e.find("ends here: the next layer joins it with another branch") != std::string::npos);
}

TEST_CASE("a copy behind a softmax says so") {
  const std::string e = explain<Sequential<Softmax, Conv2d<2, 3, 3, 1, 1>>, Input<2, 4, 4>>();
  CHECK(e.find("stage 1: copy  (2, 4, 4) -> (2, 4, 4)\n    before 1: Conv2d(2, 3, ") != std::string::npos);
  CHECK(e.find("border of zeros around its input, and a softmax writes none\n") != std::string::npos);
}

TEST_CASE("summary lists what joins three branches once") {
  using C = Conv2d<3, 4, 1>;
  const auto rows = [](const std::string& s, const char* row) {
    int n = 0;
    for (auto at = s.find(row); at != std::string::npos; at = s.find(row, at + 1)) ++n;
    return n;
  };
  const std::string sum = summary<Sequential<Add<C, C, C>, Add<ReLU, Identity>>, Input<3, 8, 8>>();
  CHECK(rows(sum, "\n0: Add() ") == 1);
  CHECK(rows(sum, "\n1: Add() ") == 1);
  // One within another is a layer of its own.
  const std::string nested = summary<Sequential<Concat<Concat<C, C, C>, C>>, Input<3, 8, 8>>();
  CHECK(rows(nested, "\n0: Concat(dim=1)") == 1);
  CHECK(rows(nested, "\n0.0: Concat(dim=1)") == 1);
  CHECK(nested.find("(12, 8, 8)") != std::string::npos);
  CHECK(nested.find("(16, 8, 8)") != std::string::npos);
  CHECK(nested.find("(8, 8, 8)") == std::string::npos);
}
