// TensorDataset, Subset, random_split and ConcatDataset.
#include "kern/data/concat_dataset.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "kern/data/loader.hpp"
#include "kern/data/subset.hpp"
#include "kern/data/tensor_dataset.hpp"
#include "kern/tensor/tensor.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::ConcatDataset;
using data::DataLoader;
using data::random_split;
using data::Subset;
using data::TensorDataset;

namespace {

/// n pictures of 2 x 1 x 2, all of them from `first` on; class: number mod 3.
template <class T>
auto numbers(int n, int first = 0) {
  Tensor<T, Shape<dyn, 2, 1, 2>> images(n);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < n; ++i) labels.push_back((first + i) % 3);
  for (int i = 0; i < 4 * n; ++i) images.data()[i] = T(4 * first + i);
  return TensorDataset{images, labels};
}
/// What a loader gives of a set: the first element of each picture, as a number.
template <class Set>
std::vector<int> loaded(const Set& set) {
  std::vector<int> all;
  for (std::size_t i = 0; i < set.size(); ++i) all.push_back(int(set.get(i).pixels[0]) / 4);
  return all;
}

/// Promises three floats and has two.
struct Short {
  using Sample = Shape<1, 1, 3>;
  std::vector<float> v{1, 2};
  std::size_t size() const { return 1; }
  data::Record get(std::size_t) const { return {{}, 0, v}; }
  int classes() const { return 1; }
};

}  // namespace

TEST_CASE("TensorDataset: a loader gives the tensor's pictures, of bytes and of floats") {
  static_assert(data::Dataset<TensorDataset<float, Shape<2, 1, 2>>>);
  const auto check = [](const auto& set, const auto& transform, float scale) {
    CHECK(set.size() == 5);
    CHECK(set.classes() == 3);
    DataLoader loader{set, transform, {.batch_size = 2}};
    int at = 0;
    for (const auto& batch : loader)
      for (int i = 0; i < int(batch.size()); ++i, ++at) {
        CHECK(batch.labels[std::size_t(i)] == at % 3);
        for (int e = 0; e < 4; ++e) CHECK(batch.images(i, e / 2, 0, e % 2) == float(4 * at + e) / scale);
      }
    CHECK(at == 5);
  };
  check(numbers<std::uint8_t>(5), data::ToTensor{}, 255);
  check(numbers<float>(5), data::Compose{}, 1);
  const Tensor<float, Shape<3, 1, 1, 1>> fixed{1, 2, 3};
  const TensorDataset set{fixed, std::vector<std::int32_t>{0, 0, 1}, 4};
  CHECK(set.classes() == 4);
  CHECK(set.get(2).values[0] == 3);
}

TEST_CASE("samples that are no pictures: (N, features), each normalised as a channel is") {
  const Tensor<float, Shape<3, 2>> x{1, 10, 2, 20, 3, 30};
  const Tensor<std::uint8_t, Shape<3, 2>> bytes{0, 255, 51, 102, 153, 204};
  const Tensor<float, Shape<3, 1>> targets{7, 8, 9};
  const data::Normalize change{{1, 10}, {2, 5}};
  DataLoader loader{TensorDataset{x, targets}, change, {.batch_size = 2}};
  static_assert(std::is_same_v<decltype(loader)::Batch::Images, TensorView<const float, Shape<dyn, 2>>>);
  std::vector<float> got, wanted{0, 0, 0.5f, 2, 1, 4}, values;
  for (const auto& batch : loader) {
    got.insert(got.end(), batch.images.begin(), batch.images.end());
    values.insert(values.end(), batch.labels.begin(), batch.labels.end());
  }
  CHECK(got == wanted);  // (x - mean) / deviation
  CHECK(values == std::vector<float>{7, 8, 9});
  const Subset last{TensorDataset{bytes, std::vector<std::int32_t>{0, 1, 0}}, {2, 1}};
  got.clear();
  for (const auto& batch : DataLoader{last, data::ToTensor{}, {.batch_size = 2}})
    got.insert(got.end(), batch.images.begin(), batch.images.end());
  CHECK(got == std::vector<float>{153.0f / 255, 204.0f / 255, 51.0f / 255, 102.0f / 255});
}

TEST_CASE("TensorDataset: labels that don't fit") {
  const Tensor<float, Shape<3, 1, 1, 1>> images{1, 2, 3};
  const auto message = [&](std::vector<std::int32_t> labels, int classes) {
    return thrown<ArgumentError>([&] { TensorDataset(images, labels, classes); });
  };
  CHECK(message({0, 1}, 0) == "TensorDataset: got 3 samples, but 2 labels");
  CHECK(message({0, -1, 1}, 0) == "TensorDataset: label of record 1: expected 0 to 1, got -1");
  CHECK(message({-1, -1, -1}, 0) == "TensorDataset: label of record 0: expected 0 to 0, got -1");
  CHECK(message({0, 1, 2}, 2) == "TensorDataset: label of record 2: expected 0 to 1, got 2");
}

TEST_CASE("a record of floats is measured, too") {
  CHECK(thrown<DataError>([] { data::detail::record(Short{}, 0); }) ==
        "record 0 of the data set: expected 3 floats for a sample of shape (1, 1, 3), got 2");
}

TEST_CASE("Subset: the records at its indices") {
  const Subset set{numbers<std::uint8_t>(9), {8, 0, 3, 3}};
  static_assert(data::Dataset<decltype(set)>);
  CHECK(loaded(set) == std::vector<int>{8, 0, 3, 3});
  CHECK(set.get(0).label == 2);
  CHECK(set.classes() == 3);
  CHECK(loaded(Subset{set, {1, 0}}) == std::vector<int>{0, 8});
  CHECK(thrown<ArgumentError>([] { Subset(numbers<float>(9), {0, 9}); }) ==
        "Subset: index 1: expected one below 9, got 9");
}

TEST_CASE("random_split: torch's lengths; every record in one part; the order is the seed's") {
  const auto set = numbers<std::uint8_t>(10);
  const auto lengths = [](const auto& parts) {
    std::vector<std::size_t> n;
    for (const auto& p : parts) n.push_back(p.size());
    return n;
  };
  using Lengths = std::vector<std::size_t>;
  // len() of torch.utils.data.random_split(range(10), ...), and of range(7)
  CHECK(lengths(random_split(set, {3, 0, 7})) == Lengths{3, 0, 7});
  CHECK(lengths(random_split(set, {0.33, 0.33, 0.34})) == Lengths{4, 3, 3});
  CHECK(lengths(random_split(set, {0.55, 0.45})) == Lengths{6, 4});
  CHECK(lengths(random_split(numbers<float>(7), {0.25, 0.25, 0.25, 0.25})) == Lengths{2, 2, 2, 1});

  const auto [train, valid] = random_split(set, {0.8, 0.2}, Seed{1});
  auto all = loaded(train), rest = loaded(valid);
  CHECK(!std::is_sorted(all.begin(), all.end()));
  CHECK(loaded(random_split(set, {8, 2}, Seed{1})[0]) == all);
  CHECK(loaded(random_split(set, {8, 2}, Seed{2})[0]) != all);
  all.insert(all.end(), rest.begin(), rest.end());
  CHECK(std::set<int>(all.begin(), all.end()).size() == 10);
  // Not the order of a loader with the same seed.
  const DataLoader loader{set, data::ToTensor{}, {.shuffle = true, .seed = Seed{1}}};
  CHECK(loader.order(0) != random_split(set, {10}, Seed{1})[0].indices());

  const auto message = [&](const auto&... part) {
    return thrown<ArgumentError>([&] { random_split(set, {part...}); });
  };
  CHECK(message(3, 6) == "random_split: expected lengths whose sum is 10, the data set's, got 9");
  CHECK(message(11, -1) == "random_split: part 1: expected a length or a fraction, got -1");
  CHECK(message(0.5, 0.4) == "random_split: expected fractions whose sum is 1, got 0.9");
  CHECK(message(1.5, -0.5) == "random_split: part 0: expected a length or a fraction, got 1.5");
}

TEST_CASE("ConcatDataset: one set behind another, of any types") {
  const ConcatDataset set{numbers<std::uint8_t>(2), Subset{numbers<std::uint8_t>(9), {8, 7}},
                          numbers<std::uint8_t>(1, 5)};
  static_assert(data::Dataset<decltype(set)>);
  CHECK(set.size() == 5);
  CHECK(set.classes() == 3);
  CHECK(loaded(set) == std::vector<int>{0, 1, 8, 7, 5});
  CHECK(set.get(4).label == 2);
}

namespace {
/// Number i, and i and its square.
struct Squares {
  using Sample = Shape<1, 1, 1>;
  using Targets = Shape<2>;
  std::size_t count;
  std::size_t size() const { return count; }
  data::Record get(std::size_t i) const {
    x = float(i), y = {x, x * x};
    return {{}, 0, {&x, 1}, std::span(y).first(i < 90 ? 2 : 1)};
  }
  mutable float x = 0;
  mutable std::array<float, 2> y{};
};
}  // namespace

TEST_CASE("a set of values: a batch's labels are a tensor; parts of the set are such sets, too") {
  data::DataLoader loader{Squares{5}, data::Compose{}, {.batch_size = 2, .num_workers = 2}};
  std::vector<float> seen;
  std::vector<int> sizes;
  for (const auto& batch : loader) {
    sizes.push_back(int(batch.size()));
    CHECK(batch.labels.shape() == std::array{int(batch.size()), 2});
    for (const float v : batch.labels) seen.push_back(v);
  }
  CHECK(sizes == std::vector<int>{2, 2, 1});
  CHECK(seen == std::vector<float>{0, 0, 1, 1, 2, 4, 3, 9, 4, 16});

  const Subset<Squares> some{Squares{5}, {3, 1}};
  data::DataLoader of_some{some, data::Compose{}, {.batch_size = 2}};
  for (const auto& batch : of_some) {
    CHECK(batch.images(0, 0, 0, 0) == 3);
    CHECK(batch.labels(0, 1) == 9);
    CHECK(batch.labels(1, 1) == 1);
  }
  data::DataLoader damaged{Subset<Squares>{Squares{100}, {95}}, data::Compose{}, {.batch_size = 2}};
  CHECK(thrown<DataError>([&] {
          for (const auto& batch : damaged) CHECK(batch.size() == 0);
        }) == "record 0 of the data set: expected 2 targets, got 1");
}

TEST_CASE("ConcatDataset and TensorDataset of values") {
  const Tensor<float, Shape<3, 1, 1, 1>> x{7, 8, 9};
  const Tensor<float, Shape<3, 2>> y{7, 49, 8, 64, 9, 81};
  const TensorDataset numbers{x, y};
  static_assert(data::Dataset<decltype(numbers)>);
  static_assert(std::is_same_v<decltype(numbers)::Targets, Shape<2>>);
  const ConcatDataset both{Squares{2}, Subset<Squares>{Squares{9}, {5}}, numbers};
  data::DataLoader loader{both, data::Compose{}, {.batch_size = 4}};
  std::vector<float> seen;
  for (const auto& batch : loader)
    for (int i = 0; i < int(batch.size()); ++i) {
      CHECK(batch.labels(i, 0) == batch.images(i, 0, 0, 0));
      seen.push_back(batch.labels(i, 1));
    }
  CHECK(seen == std::vector<float>{0, 1, 25, 49, 64, 81});
  const Tensor<float, Shape<2, 2>> few;
  CHECK(thrown<ArgumentError>([&] { TensorDataset(x, few); }) ==
        "TensorDataset: got 3 samples, but 2 targets");
}

namespace {
/// A set with one member replaced by each of what follows.
struct Whole {
  using Sample = Shape<3>;
  std::size_t size() const { return 2; }
  int classes() const { return 2; }
  data::Record get(std::size_t i) const { return {{}, int(i), values}; }
  std::vector<float> values{1, 2, 3};
};
struct WithoutSample {
  std::size_t size() const;
};
struct OtherSample : Whole {
  using Sample = Shape<3, 3>;
};
struct ChangingSize : Whole {
  std::size_t size() { return 2; }
};
struct OtherSize : Whole {
  std::array<int, 2> size() const;
};
struct NoGet : Whole {
  data::Record get() const;
};
struct OtherGet : Whole {
  float get(std::size_t) const;
};
struct NoClasses {
  using Sample = Shape<3>;
  std::size_t size() const;
  data::Record get(std::size_t) const;
};
struct ChangingClasses : Whole {
  int classes() { return 2; }
};
struct OtherClasses : Whole {
  std::vector<int> classes() const;
};
struct OtherTargets : NoClasses {
  using Targets = int;
};
template <class Set, class Complaint>
constexpr bool refused =
    !data::Dataset<Set> && std::is_same_v<decltype(data::detail::data_set_complaint<Set>()), Complaint*>;
template <class Set, class Member, class Expected, class Got>
constexpr bool refused_type =
    refused<Set, data::data_set_member_has_another_type<Set, Member, data::expects_type<Expected>,
                                                        data::gets_type<Got>>>;
}  // namespace

TEST_CASE("what is no data set is refused by its first wrong member") {
  namespace set_member = data::set_member;
  using data::data_set_lacks, data::data_set_member_is_not_const;
  using Wanted = data::shape_of_channels_height_width_or_of_features;
  static_assert(data::Dataset<Whole>);
  static_assert(refused<WithoutSample, data_set_lacks<WithoutSample, set_member::Sample, Wanted>>);
  static_assert(refused_type<OtherSample, set_member::Sample, Wanted, Shape<3, 3>>);
  static_assert(refused<ChangingSize, data_set_member_is_not_const<ChangingSize, set_member::size>>);
  static_assert(refused_type<OtherSize, set_member::size, std::size_t, std::array<int, 2>>);
  static_assert(refused<NoGet, data_set_lacks<NoGet, set_member::get, data::Record(std::size_t) const>>);
  static_assert(refused_type<OtherGet, set_member::get, data::Record, float>);
  static_assert(refused<NoClasses, data_set_lacks<NoClasses, set_member::classes_or_Targets, int() const>>);
  static_assert(refused<ChangingClasses, data_set_member_is_not_const<ChangingClasses, set_member::classes>>);
  static_assert(refused_type<OtherClasses, set_member::classes, int, std::vector<int>>);
  static_assert(refused_type<OtherTargets, set_member::Targets, Wanted, int>);
}

TEST_CASE("a loader without a transform gives floats as they are, and refuses bytes") {
  const data::DataLoaderOptions options{.batch_size = 2};
  DataLoader plain{Whole{}, options}, one{Whole{}};
  auto made = data::make_loader(Host{}, Whole{}, {.batch_size = 2});
  static_assert(std::is_same_v<decltype(plain), DataLoader<Whole, data::Compose<>>>);
  static_assert(std::is_same_v<decltype(made), DataLoader<Whole, data::Compose<>>>);
  CHECK(one.size() == 2);
  for (const auto& batch : plain) {
    CHECK(std::vector<float>(batch.images.begin(), batch.images.end()) ==
          std::vector<float>{1, 2, 3, 1, 2, 3});
    CHECK(batch.labels[1] == 1);
  }
  DataLoader bytes{numbers<std::uint8_t>(2)};
  CHECK_THROWS_WITH_AS(bytes.begin(), "DataLoader: the transform leaves bytes: expected a ToTensor in it",
                       ArgumentError);
}
