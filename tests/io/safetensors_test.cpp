#include "kern/io/safetensors.hpp"

#include <doctest/doctest.h>

#include "kern/graph/model.hpp"
#include "kern/nn/nn.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/test_device.hpp"

using namespace kern;
using namespace kern::nn;
using namespace kern::testing;
using data::detail::read_bytes;
using io::load_model;
using io::save_model;

namespace {
const std::string golden_files = KERN_TEST_DATA "/safetensors/";

using Named1 =
    Sequential<Named<"conv1", Conv2d<1, 4, 3>>, ReLU, MaxPool2d<2>, Flatten, Named<"fc1", Linear<36, 10>>>;
using Numbered =
    Sequential<Conv2d<2, 3, 3, 1, 0, Bias::off>, Sequential<ReLU, Conv2d<3, 4, 1>>, Flatten, Linear<16, 5>>;
using Norms = Sequential<Named<"conv1", Conv2d<1, 4, 3>>, Named<"bn1", BatchNorm2d<4>>, ReLU, Flatten,
                         Named<"fc1", Linear<144, 5>>, Named<"bn2", BatchNorm1d<5, 1e-5, 0.1, Affine::off>>>;
using NormsModel = Model<Norms, Input<1, 8, 8>, TestDevice>;
template <class T>
using NamedModel = Model<Named1, Input<1, 8, 8>, TestDevice, T>;

template <class Model, class Sample>
std::vector<typename Model::Element> outputs(Model& model, int batch, Sample) {
  using T = typename Model::Element;
  const auto values = formula_array<T>(1, std::size_t(batch) * std::size_t(Sample::dims.size()));
  const auto y = model.predict(TensorView<const T, typename Sample::Batch>(values.data(), batch));
  return {y.begin(), y.end()};
}
template <class Model>
std::vector<std::vector<typename Model::Element>> parameters(const Model& model) {
  std::vector<std::vector<typename Model::Element>> all;
  for (const std::string& name : Model::parameter_names()) all.push_back(model.parameter(name));
  return all;
}
}  // namespace

TEST_CASE_TEMPLATE("PyTorch's file of the same net: the same outputs, and the same file, to the byte", T,
                   float, double) {
  const Folder folder;
  const std::string file = golden_files + (sizeof(T) == 4 ? "net_f32" : "net_f64") + ".safetensors";
  NamedModel<T> loaded(Seed{1}, test_device(2)), filled(Seed{2}, test_device(2));
  load_model(loaded, file);
  check_close(golden("safetensors.txt", "net"), "y", outputs(loaded, 2, Input<1, 8, 8>{}), 12);
  save_model(loaded, folder / "loaded");
  CHECK(read_bytes(folder / "loaded") == read_bytes(file));
  fill(filled);
  save_model(filled, folder / "filled");
  CHECK(read_bytes(folder / "filled") == read_bytes(file));
}

TEST_CASE("an nn.Sequential's numbers, one in another") {
  const Folder folder;
  const std::string file = golden_files + "numbered.safetensors";
  Model<Numbered, Input<2, 4, 4>, TestDevice> model(Seed{1}, test_device(1));
  load_model(model, file);
  check_close(golden("safetensors.txt", "numbered"), "y", outputs(model, 3, Input<2, 4, 4>{}), 12);
  save_model(model, folder / "f");
  CHECK(read_bytes(folder / "f") == read_bytes(file));
  Model<erase_shapes<Numbered>, Input<dyn, dyn, dyn>, TestDevice> erased(Dims{2, 4, 4}, Seed{1},
                                                                         test_device(1));
  load_model(erased, folder / "f");
  CHECK(parameters(erased) == parameters(model));
}

TEST_CASE("running statistics: PyTorch's file, without its count of batches") {
  const Folder folder;
  const io::SafetensorsFile theirs(golden_files + "norms.safetensors");
  NormsModel model(Seed{1}, test_device(2));
  load_model(model, theirs);
  check_close(golden("safetensors.txt", "norms"), "y", outputs(model, 2, Input<1, 8, 8>{}), 24);
  save_model(model, folder / "f");
  const io::SafetensorsFile ours(folder / "f");
  for (const io::TensorInfo& t : theirs.tensors()) {
    CAPTURE(t.name);
    const io::TensorInfo* const same = ours.find(t.name);
    REQUIRE((same != nullptr) == !t.name.ends_with("num_batches_tracked"));
    if (same) CHECK(std::ranges::equal(theirs.bytes(t), ours.bytes(*same)));
  }
  CHECK(theirs.tensors().size() == ours.tensors().size() + 2);
}

TEST_CASE("not strict: what both have is set, the rest reported") {
  const Folder folder;
  using Other = Sequential<Named<"conv1", Conv2d<1, 4, 3>>, Named<"bn1", BatchNorm2d<4>>, ReLU, Flatten,
                           Named<"head", Linear<144, 7>>>;
  Model<Other, Input<1, 8, 8>, TestDevice> model(Seed{1}, test_device(1));
  NormsModel theirs(Seed{2}, test_device(1));
  const std::string file = golden_files + "norms.safetensors";
  load_model(theirs, file);
  const auto head = model.parameter("head.weight");
  const io::LoadedKeys keys = load_model(model, file, false);
  CHECK(keys.missing_keys == std::vector<std::string>{"head.weight", "head.bias"});
  auto unexpected = keys.unexpected_keys;
  std::ranges::sort(unexpected);
  CHECK(unexpected == std::vector<std::string>{"bn2.num_batches_tracked", "bn2.running_mean",
                                               "bn2.running_var", "fc1.bias", "fc1.weight"});
  CHECK(model.parameter("conv1.weight") == theirs.parameter("conv1.weight"));
  CHECK(model.buffer("bn1.running_var") == theirs.buffer("bn1.running_var"));
  CHECK(model.parameter("head.weight") == head);

  Model<Sequential<Flatten, Named<"fc1", Linear<64, 5>>>, Input<1, 8, 8>, TestDevice> narrow(Seed{1},
                                                                                             test_device(1));
  CHECK(thrown<DataError>([&] { load_model(narrow, file, false); }) ==
        file + ": does not fit the model: \"fc1.weight\": expected shape (5, 64), got (5, 144)");
}

TEST_CASE("running statistics that are missing are named") {
  const Folder folder;
  const Tensor<float, Shape<4>> four{1, 2, 3, 4};
  const Tensor<std::int64_t, Shape<4>> counts{1, 2, 3, 4};
  io::save_safetensors(
      folder / "f",
      {{"0.weight", four}, {"0.bias", four}, {"0.running_mean", four}, {"0.num_batches_tracked", counts}});
  Model<Sequential<BatchNorm1d<4>>, Input<4>, TestDevice> model(Seed{1}, test_device(1));
  CHECK(thrown<DataError>([&] { load_model(model, folder / "f"); }) ==
        folder / "f" +
            ": does not fit the model: \"0.running_var\": expected shape (4,), got no such tensor; "
            "\"0.num_batches_tracked\": expected no such tensor, got one of shape (4,)");
  CHECK(model.buffer("0.running_mean") == std::vector<float>(4, 0));
}

TEST_CASE_TEMPLATE("other floating-point types are converted", T, float, double) {
  for (const std::string type : {"f16", "bf16"}) {
    NamedModel<T> model(Seed{1}, test_device(1));
    load_model(model, golden_files + "net_" + type + ".safetensors");
    for (const std::string& name : NamedModel<T>::parameter_names()) {
      CAPTURE(name);
      const auto v = model.parameter(name);
      const std::vector<double>& expected = golden("safetensors.txt", type).at(name).values;
      CHECK(std::vector<double>(v.begin(), v.end()) == expected);
    }
  }
  NamedModel<float> narrow(Seed{1}, test_device(1));
  NamedModel<double> wide(Seed{1}, test_device(1));
  load_model(narrow, golden_files + "net_f64.safetensors");
  load_model(wide, golden_files + "net_f32.safetensors");
  for (const std::string& name : NamedModel<float>::parameter_names()) {
    const auto v = narrow.parameter(name);
    CHECK(std::vector<double>(v.begin(), v.end()) == wide.parameter(name));
  }
}

TEST_CASE("notes") {
  const Folder folder;
  const NamedModel<float> model(Seed{1}, test_device(1));
  save_model(model, folder / "f", {{"format", "pt"}, {"epoch", "3"}});
  CHECK(io::SafetensorsFile(folder / "f").metadata() == io::Metadata{{"format", "pt"}, {"epoch", "3"}});
}

TEST_CASE("what does not fit the model is named, and nothing changes") {
  const Folder folder;
  const std::string f = folder / "f", wrong = f + ": does not fit the model: ";
  NamedModel<float> model(Seed{1}, test_device(1));
  const auto before = parameters(model);
  const Tensor<float, Shape<4, 1, 3, 3>> conv;
  const Tensor<float, Shape<4>> four;
  const Tensor<float, Shape<10, 36>> fc;
  const Tensor<float, Shape<10>> ten;
  const auto refusal = [&](std::vector<io::TensorToSave> tensors) {
    io::save_safetensors(f, std::move(tensors));
    const std::string message = thrown<DataError>([&] { load_model(model, f); });
    CHECK(parameters(model) == before);
    return message;
  };
  const io::TensorToSave all[] = {
      {"conv1.weight", conv}, {"conv1.bias", four}, {"fc1.weight", fc}, {"fc1.bias", ten}};
  CHECK(refusal({all[0], all[1], all[2]}) ==
        wrong + "\"fc1.bias\": expected shape (10,), got no such tensor");
  CHECK(refusal({all[0], all[1], all[2], all[3], {"fc2.bias", four}}) ==
        wrong + "\"fc2.bias\": expected no such tensor, got one of shape (4,)");
  CHECK(refusal({all[0], all[1], all[2], {"fc1.bias", four}}) ==
        wrong + "\"fc1.bias\": expected shape (10,), got (4,)");
  const Tensor<float, Shape<36, 10>> turned;  // as many elements
  CHECK(refusal({all[0], all[1], {"fc1.weight", turned}, all[3]}) ==
        wrong + "\"fc1.weight\": expected shape (10, 36), got (36, 10)");
  const Tensor<std::int32_t, Shape<10>> whole;
  CHECK(refusal({all[0], all[1], all[2], {"fc1.bias", whole}}) ==
        wrong + "\"fc1.bias\": expected dtype F64, F32, F16 or BF16, got I32");
  CHECK(refusal({all[0], {"conv1.offset", four}, all[2], {"fc1.bias", four}}) ==
        wrong +
            "\"conv1.bias\": expected shape (4,), got no such tensor; \"fc1.bias\": expected shape (10,), "
            "got (4,); \"conv1.offset\": expected no such tensor, got one of shape (4,)");
  std::vector<io::TensorToSave> many;
  for (int i = 0; i < 7; ++i) many.emplace_back(text("a", i), four);
  const std::string of_four = "\": expected no such tensor, got one of shape (4,); ";
  CHECK(refusal({many.begin(), many.begin() + 6}).ends_with("\"a4" + of_four + "and 1 more"));
  CHECK(
      refusal(many) ==
      wrong +
          "\"conv1.weight\": expected shape (4, 1, 3, 3), got no such tensor; \"conv1.bias\": expected shape "
          "(4,), got no such tensor; \"fc1.weight\": expected shape (10, 36), got no such tensor; "
          "\"fc1.bias\": expected shape (10,), got no such tensor; \"a0" +
          of_four + "\"a1" + of_four + "\"a2" + of_four + "\"a3" + of_four + "\"a4" + of_four + "and 2 more");
  write(f, {1});
  CHECK(thrown<DataError>([&] { load_model(model, f); }).find(f + ": too short") == 0);
  CHECK(parameters(model) == before);
}
