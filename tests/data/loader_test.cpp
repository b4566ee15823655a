#include "kern/data/loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <ranges>
#include <set>
#include <stdexcept>
#include <thread>

#include "kern/data/augment.hpp"
#include "support/data_golden.hpp"
#include "support/files.hpp"

using namespace kern;
using namespace kern::testing;
using data::DataLoader;
using data::Image;
using data::Record;
using data::ToTensor;
using data::TransformDraw;

namespace {

/// A user's own: n pictures of two pixels, the number of the picture in 16 bits; class: number mod 4.
struct Numbers {
  using Sample = Shape<1, 1, 2>;
  std::vector<std::array<std::uint8_t, 2>> pixels;
  explicit Numbers(std::size_t n) : pixels(n) {
    for (std::size_t i = 0; i < n; ++i) pixels[i] = {std::uint8_t(i >> 8), std::uint8_t(i)};
  }
  std::size_t size() const { return pixels.size(); }
  Record get(std::size_t i) const { return {pixels[i], std::int32_t(i % 4)}; }
  int classes() const { return 4; }
};
/// The number that a picture of Numbers shows.
template <class Batch>
std::uint32_t number(const Batch& batch, std::size_t i) {
  const float high = batch.images(i, 0, 0, 0), low = batch.images(i, 0, 0, 1);
  return std::uint32_t(high * 255 + 0.5f) << 8 | std::uint32_t(low * 255 + 0.5f);
}
/// One loop: the numbers in the order in which they come.
template <class Loader>
std::vector<std::uint32_t> epoch(Loader& loader) {
  std::vector<std::uint32_t> all;
  for (const auto& batch : loader)
    for (std::size_t i = 0; i < batch.size(); ++i) {
      REQUIRE(batch.labels[i] == std::int32_t(number(batch, i) % 4));
      all.push_back(number(batch, i));
    }
  return all;
}
std::vector<std::uint32_t> counting(std::uint32_t n) {
  std::vector<std::uint32_t> v(n);
  for (std::uint32_t i = 0; i < n; ++i) v[i] = i;
  return v;
}

/// Numbers whose get() does something first.
template <class Before>
struct Watched : Numbers {
  Before before;
  Watched(std::size_t n, Before b) : Numbers(n), before(b) {}
  Record get(std::size_t i) const {
    before(i);
    return Numbers::get(i);
  }
};
using Loader = DataLoader<Numbers, ToTensor>;
static_assert(std::ranges::input_range<Loader>);
static_assert(std::is_same_v<Loader::Batch::Images, TensorView<const float, Shape<dyn, 1, 1, 2>>>);

/// Pictures of noise of 3 x 6 x 5 in a buffer of the set's own: no two threads may use it at once.
struct Noise {
  using Sample = Shape<3, 6, 5>;
  std::size_t size() const { return 103; }
  Record get(std::size_t i) const {
    std::mt19937 random(static_cast<unsigned>(i));
    for (std::uint8_t& p : pixels) p = std::uint8_t(random());
    return {pixels, std::int32_t(i % 7)};
  }
  int classes() const { return 7; }
  mutable std::array<std::uint8_t, 90> pixels{};
};

/// Waits for something that another thread does; false if it doesn't.
template <class F>
bool eventually(F f) {
  for (int i = 0; i < 5000; ++i) {
    if (f()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("in the data set's order, the last batch with what is left") {
  Loader loader{Numbers{10}, ToTensor{}, {.batch_size = 4}};
  CHECK(loader.size() == 3);
  CHECK(loader.dataset().size() == 10);
  for (int loop = 0; loop < 3; ++loop) {
    std::vector<std::size_t> sizes;
    std::vector<std::uint32_t> all;
    for (const auto& batch : loader) {
      sizes.push_back(batch.size());
      CHECK(batch.images.shape() == std::array{int(batch.size()), 1, 1, 2});
      for (std::size_t i = 0; i < batch.size(); ++i) all.push_back(number(batch, i));
    }
    CHECK(sizes == std::vector<std::size_t>{4, 4, 2});
    CHECK(all == counting(10));
  }
}

TEST_CASE("numbers of batches") {
  const auto sizes = [](std::size_t n, int batch, bool drop_last) {
    Loader loader{Numbers{n}, ToTensor{}, {.batch_size = batch, .drop_last = drop_last}};
    std::size_t batches = 0, samples = 0;
    for (const auto& b : loader) ++batches, samples += b.size();
    CHECK(batches == loader.size());
    return std::pair{batches, samples};
  };
  using P = std::pair<std::size_t, std::size_t>;
  CHECK(sizes(10, 3, false) == P{4, 10});
  CHECK(sizes(10, 3, true) == P{3, 9});
  CHECK(sizes(10, 5, true) == P{2, 10});
  CHECK(sizes(10, 10, false) == P{1, 10});
  CHECK(sizes(10, 11, false) == P{1, 10});
  CHECK(sizes(10, 11, true) == P{0, 0});
  CHECK(sizes(1, 1, true) == P{1, 1});
  CHECK(sizes(10, 2147483647, false) == P{1, 10});
}

TEST_CASE("options that are not given are PyTorch's") {
  Loader loader{Numbers{3}, ToTensor{}};
  CHECK(loader.options().batch_size == 1);
  CHECK(epoch(loader) == counting(3));
  CHECK(loader.size() == 3);
}

TEST_CASE("the order is that of Philox keys of seed and epoch") {
  for (const auto& [seed, e] :
       {std::pair<std::uint64_t, std::uint32_t>{0, 0}, {0, 1}, {12345678901234567890u, 7}}) {
    const auto expected = golden_words("order_" + std::to_string(seed) + "_" + std::to_string(e), 10);
    for (int batch : {1, 7, 64, 1000}) {
      Loader loader{Numbers{100}, ToTensor{}, {.batch_size = batch, .shuffle = true, .seed = Seed{seed}}};
      loader.set_epoch(e);
      CHECK(loader.order(e) == expected);
      CHECK(epoch(loader) == expected);
    }
  }
}

TEST_CASE(
    "each epoch has an order of its own, with every sample once; a loader can go on where one stopped") {
  Loader loader{Numbers{1000}, ToTensor{}, {.batch_size = 64, .shuffle = true, .seed = Seed{3}}};
  std::set<std::vector<std::uint32_t>> orders;
  std::vector<std::uint32_t> third;
  for (std::uint32_t e = 0; e < 4; ++e) {
    CHECK(loader.epoch() == e);
    third = epoch(loader);
    orders.insert(third);
    auto sorted = third;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == counting(1000));
  }
  CHECK(orders.size() == 4);
  Loader later{Numbers{1000}, ToTensor{}, {.batch_size = 10, .shuffle = true, .seed = Seed{3}}};
  later.set_epoch(3);
  CHECK(epoch(later) == third);
  CHECK(later.epoch() == 4);
  Loader other{Numbers{1000}, ToTensor{}, {.batch_size = 10, .shuffle = true, .seed = Seed{4}}};
  CHECK(orders.count(epoch(other)) == 0);
}

TEST_CASE("a shuffled position is as likely to hold one sample as another") {
  // 2,000 epochs of 8 samples: each sample at each place 250 times, give or take sqrt(2000 * 1/8 * 7/8)
  // = 14.8.
  Loader loader{Numbers{8}, ToTensor{}, {.batch_size = 8, .shuffle = true, .seed = Seed{1}}};
  int count[8][8] = {};
  for (std::uint32_t e = 0; e < 2000; ++e) {
    const auto order = loader.order(e);
    for (std::size_t place = 0; place < 8; ++place) ++count[place][order[place]];
  }
  double chi2 = 0;
  for (const auto& row : count)
    for (int c : row) chi2 += (c - 250.0) * (c - 250.0) / 250;
  // 49 degrees of freedom: mean 49, deviation sqrt(98) = 9.9.
  CHECK(chi2 < 49 + 5 * 9.9);
  CHECK(chi2 > 49 - 5 * 9.9 + 5);
}

TEST_CASE("the next batch is made while this one is used, and not more") {
  std::atomic<int> gets{0};
  DataLoader loader{Watched{40, [&](std::size_t) { ++gets; }}, ToTensor{}, {.batch_size = 10}};
  auto it = loader.begin();
  CHECK(eventually([&] { return gets == 20; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(gets == 20);  // the third one's place is still in use
  CHECK(number(*it, 3) == 3);
  ++it;
  CHECK(eventually([&] { return gets == 30; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(gets == 30);
  CHECK(number(*it, 3) == 13);
}

TEST_CASE("a loop that is left early, and another after it") {
  Loader loader{Numbers{100}, ToTensor{}, {.batch_size = 10}};
  for (std::size_t leave = 0; leave < 10; ++leave) {
    std::size_t seen = 0;
    for (const auto& batch : loader) {
      CHECK(number(batch, 0) == seen * 10);
      if (seen++ == leave) break;
    }
    CHECK(epoch(loader) == counting(100));
  }
  CHECK(loader.epoch() == 20);
  try {
    for (const auto& batch : loader)
      if (number(batch, 0) == 30) throw std::runtime_error("from the loop");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()) == "from the loop");
  }
  CHECK(epoch(loader) == counting(100));
}

TEST_CASE("leaving at random, many times: always the epoch's own order") {
  Loader loader{Numbers{61}, ToTensor{}, {.batch_size = 7, .shuffle = true, .seed = Seed{8}}};
  std::mt19937 random(4);
  for (int loop = 0; loop < 500; ++loop) {
    if (random() % 4 == 0) loader.set_epoch(std::uint32_t(random() % 1000));
    const auto expected = loader.order(loader.epoch());
    std::size_t at = 0, leave = random() % 70;
    for (const auto& batch : loader) {
      for (std::size_t i = 0; i < batch.size(); ++i) REQUIRE(number(batch, i) == expected[at++]);
      if (at >= leave) break;
    }
    REQUIRE((at == 61 || at >= leave));
  }
}

TEST_CASE("an epoch from one of its batches on: those before are not made") {
  for (const int workers : {0, 1, 3})
    for (std::size_t first = 0; first <= 9; ++first) {
      std::atomic<int> read = 0;
      const auto count = [&read](std::size_t) { ++read; };
      DataLoader loader{Watched{61, count},
                        ToTensor{},
                        {.batch_size = 7, .shuffle = true, .num_workers = workers, .seed = Seed{8}}};
      auto expected = loader.order(5);
      expected.erase(expected.begin(),
                     expected.begin() + std::ptrdiff_t(std::min<std::size_t>(61, 7 * first)));
      if (first % 2) epoch(loader);
      read = 0;
      loader.set_epoch(5, first);
      CHECK(loader.batch() == first);
      std::vector<std::uint32_t> got;
      std::size_t number_of_batch = first;
      for (const auto& batch : loader) {
        CHECK(loader.batch() == ++number_of_batch);
        for (std::size_t i = 0; i < batch.size(); ++i) got.push_back(number(batch, i));
      }
      CHECK(got == expected);
      CHECK(read == int(expected.size()));
      CHECK(loader.epoch() == 6);
      CHECK(loader.batch() == 0);
      CHECK(epoch(loader) == loader.order(6));
    }
}

TEST_CASE("a loader may end during a loop, also while its thread works") {
  for (std::size_t steps = 0; steps < 6; ++steps) {
    auto loader =
        std::make_unique<Loader>(Numbers{50}, ToTensor{}, data::DataLoaderOptions{.batch_size = 10});
    auto it = loader->begin();
    for (std::size_t i = 0; i < steps; ++i) ++it;
    loader.reset();
  }
  // The second batch takes 5 seconds to make; nobody waits for it.
  const auto slow = [](std::size_t i) {
    if (i >= 5000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto start = std::chrono::steady_clock::now();
  {
    DataLoader loader{Watched{10'000, slow}, ToTensor{}, {.batch_size = 5000}};
    auto it = loader.begin();
    CHECK(number(*it, 9) == 9);
    auto again = loader.begin();
    CHECK(number(*again, 9) == 9);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
  {
    Loader never_used{Numbers{5}, ToTensor{}, {.batch_size = 2}};
  }
}

TEST_CASE("two loops over one loader at a time are refused, not mixed up") {
  Loader loader{Numbers{30}, ToTensor{}, {.batch_size = 10}};
  CHECK(thrown<ArgumentError>([&] {
          for (const auto& outer : loader) {
            CHECK(number(outer, 0) == 0);
            CHECK(epoch(loader) == counting(30));
          }
        }) == "DataLoader: this loop ended when another one over the same loader began");
  CHECK(epoch(loader) == counting(30));
}

TEST_CASE("what the data set throws comes out at its batch, as it was thrown") {
  struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  std::atomic<bool> broken{true}, failed{false};
  const auto fails = [&](std::size_t i) {
    if (!broken || i != 25) return;
    failed = true;
    throw Unreadable("sample 25");
  };
  DataLoader loader{Watched{50, fails}, ToTensor{}, {.batch_size = 10}};
  for (int loop = 0; loop < 3; ++loop) {
    std::size_t batches = 0;
    CHECK(thrown<Unreadable>([&] {
            for (const auto& batch : loader) {
              CHECK(number(batch, 0) == batches * 10);
              ++batches;
            }
          }) == "sample 25");
    CHECK(batches == 2);
  }
  broken = false;
  CHECK(epoch(loader) == counting(50));
  // One that nobody asked for is dropped with its epoch.
  broken = true, failed = false;
  for (const auto& batch : loader)
    if (number(batch, 0) == 10) {
      CHECK(eventually([&] { return failed.load(); }));
      break;
    }
  broken = false;
  CHECK(epoch(loader) == counting(50));
}

TEST_CASE("after an error the loop is over") {
  const auto fails = [](std::size_t i) {
    if (i == 15) throw std::runtime_error("15");
  };
  DataLoader loader{Watched{50, fails}, ToTensor{}, {.batch_size = 10}};
  auto it = loader.begin();
  CHECK(thrown<std::runtime_error>([&] { ++it; }) == "15");
  ++it;
  CHECK(it == loader.end());
}

TEST_CASE("pictures of several channels, from [h][w][c] bytes to (n, c, h, w)") {
  struct Colours {
    using Sample = Shape<3, 2, 2>;
    std::array<std::uint8_t, 12> pixels{0, 51, 102, 1, 52, 103, 2, 53, 104, 3, 54, 105};
    std::size_t size() const { return 1; }
    Record get(std::size_t) const { return {pixels, 0}; }
    int classes() const { return 1; }
  };
  DataLoader loader{Colours{}, ToTensor{}, {.batch_size = 8}};
  for (const auto& batch : loader) {
    REQUIRE(batch.images.shape() == std::array{1, 3, 2, 2});
    for (int c = 0; c < 3; ++c)
      for (int p = 0; p < 4; ++p) CHECK(batch.images(0, c, p / 2, p % 2) == float(51 * c + p) / 255.0f);
  }
}

TEST_CASE("a transform that crops gives batches of its own shape, from bytes and from floats") {
  struct Rows {  // row y of picture i is 10 i + y
    using Sample = Shape<2, 4, 3>;
    std::size_t size() const { return 3; }
    Record get(std::size_t i) const {
      for (std::size_t p = 0; p < pixels.size(); ++p) pixels[p] = std::uint8_t(10 * i + p / 6);
      return {pixels, 0};
    }
    int classes() const { return 1; }
    mutable std::array<std::uint8_t, 24> pixels{};
  };
  const auto check = [](auto transform) {
    DataLoader loader{Rows{}, transform, {.batch_size = 3}};
    using Images = typename decltype(loader)::Batch::Images;
    static_assert(std::is_same_v<Images, TensorView<const float, Shape<dyn, 2, 2, 1>>>);
    for (const auto& batch : loader)
      for (int i = 0; i < 3; ++i)
        for (int c = 0; c < 2; ++c)
          for (int y = 0; y < 2; ++y) CHECK(batch.images(i, c, y, 0) == float(10 * i + y + 1) / 255.0f);
  };
  const data::CenterCrop<Size2{2, 1}> crop;
  check(data::Compose{ToTensor{}, crop});
  check(data::Compose{data::Compose{data::CenterCrop<Size2{4, 1}>{}}, crop, ToTensor{}});
}

TEST_CASE("random transforms: the same for any batch size, another time each epoch") {
  struct Flip {
    void operator()(Image& image, const TransformDraw& draw) const {
      if (rng::uniform(draw.block()[0]) < 0.5f) std::swap(image.values[0], image.values[1]);
    }
  };
  using Flipped = data::Compose<ToTensor, Flip>;
  const auto run = [](int batch, bool shuffle, std::uint64_t seed, std::uint32_t e) {
    DataLoader loader{Numbers{200},
                      Flipped{ToTensor{}, Flip{}},
                      {.batch_size = batch, .shuffle = shuffle, .seed = Seed{seed}}};
    loader.set_epoch(e);
    const auto order = loader.order(e);
    std::vector<bool> flipped(200);
    std::size_t at = 0;
    for (const auto& b : loader)
      for (std::size_t i = 0; i < b.size(); ++i, ++at) flipped[order[at]] = number(b, i) != order[at];
    return flipped;
  };
  const auto a = run(1, false, 0, 0);
  CHECK(a == run(64, false, 0, 0));
  CHECK(a == run(64, true, 0, 0));
  CHECK(a != run(64, false, 0, 1));
  CHECK(a != run(64, false, 1, 0));
  // Sample 0 looks the same either way. Half of 199, give or take sqrt(199 / 4) = 7.1.
  CHECK(std::abs(int(std::count(a.begin(), a.end(), true)) - 99) < 36);
}

TEST_CASE("any number of workers, any batch size: the same bits") {
  const data::Compose transform{data::RandomCrop<Size2{4, 5}>{.padding = 2, .fill = 3},
                                data::RandomHorizontalFlip{}, ToTensor{}, data::Normalize{0.5f, 0.25f},
                                data::RandomErasing{}};
  const auto run = [&](int workers, int batch_size) {
    DataLoader loader{Noise{},
                      transform,
                      {.batch_size = batch_size, .shuffle = true, .num_workers = workers, .seed = Seed{6}}};
    std::vector<float> all;
    for (int e = 0; e < 3; ++e) {
      std::size_t at = 0;
      const auto order = loader.order(loader.epoch());
      for (const auto& batch : loader) {
        all.insert(all.end(), batch.images.begin(), batch.images.end());
        for (const std::int32_t label : batch.labels) REQUIRE(label == std::int32_t(order[at++] % 7));
      }
      for ([[maybe_unused]] const auto& batch : loader)
        if (e == 1) break;
    }
    return all;
  };
  const auto expected = run(0, 1);
  CHECK(expected.size() == 3 * 103 * 60);
  for (const int workers : {0, 1, 2, 3, 8})
    for (const int batch_size : {4, 64}) {
      CAPTURE(workers);
      CHECK(run(workers, batch_size) == expected);
    }
}

TEST_CASE("several workers: errors come out at their batch, and a loop may be left at any time") {
  std::atomic<bool> broken{true};
  const auto fails = [&](std::size_t i) {
    if (broken && i >= 25 && i % 10 == 5) throw std::runtime_error(text("sample ", i));
  };
  for (const int workers : {0, 2, 3}) {
    broken = true;
    DataLoader loader{Watched{100, fails}, ToTensor{}, {.batch_size = 10, .num_workers = workers}};
    for (int loop = 0; loop < 20; ++loop) {
      std::size_t batches = 0;
      CHECK(thrown<std::runtime_error>([&] {
              for (const auto& batch : loader) CHECK(number(batch, 0) == batches++ * 10);
            }) == "sample 25");
      CHECK(batches == 2);
      for (const auto& batch : loader)
        if (number(batch, 0) == 10) break;
    }
    broken = false;
    CHECK(epoch(loader) == counting(100));
    loader.begin();  // and the loader ends while its threads work
  }
}

TEST_CASE("a data set that can't be copied has one worker at most") {
  struct Only : Numbers {
    std::unique_ptr<int> mine;
    Only() : Numbers(4) {}
  };
  DataLoader one{Only{}, ToTensor{}, {.num_workers = 1}};
  CHECK(epoch(one) == counting(4));
  CHECK(thrown<ArgumentError>([] { DataLoader(Only{}, ToTensor{}, {.num_workers = 2}); }) ==
        "DataLoader: num_workers = 2: each needs a copy of the data set, but it can't be copied");
}

TEST_CASE("bad arguments and empty sets") {
  CHECK(thrown<ArgumentError>([] { Loader(Numbers{5}, ToTensor{}, {.num_workers = -1}); }) ==
        "DataLoader: num_workers must be at least 0, got -1");
  const auto with = [](std::size_t n, int batch) {
    return thrown<Error>([&] { Loader(Numbers{n}, ToTensor{}, {.batch_size = batch}); });
  };
  CHECK(with(5, 0) == "DataLoader: batch_size must be at least 1, got 0");
  CHECK(with(5, -3) == "DataLoader: batch_size must be at least 1, got -3");
  CHECK(with(0, 4) == "DataLoader: the data set is empty");
  CHECK(with(5, 5) == "nothing was thrown");
  struct Endless : Numbers {
    Endless() : Numbers(1) {}
    std::size_t size() const { return std::size_t{1} << 32; }
  };
  CHECK(thrown<DataError>([] { DataLoader(Endless{}, ToTensor{}, {.batch_size = 1}); }) ==
        "DataLoader: expected a data set of at most 4294967295 samples, got 4294967296");
}

namespace {
/// Record 7 is as given, the others are right.
struct Odd : Numbers {
  std::size_t bytes;
  std::int32_t label;
  Odd(std::size_t b, std::int32_t l) : Numbers(20), bytes(b), label(l) {}
  Record get(std::size_t i) const {
    static constexpr std::uint8_t room[3] = {};
    return i == 7 ? Record{std::span(room, bytes), label} : Numbers::get(i);
  }
};
}  // namespace

TEST_CASE("records that are not what the data set declares") {
  const auto with = [](std::size_t bytes, std::int32_t label) {
    return thrown<DataError>([&] {
      DataLoader loader{Odd{bytes, label}, ToTensor{}, {.batch_size = 4}};
      std::size_t batches = 0;
      for (const auto& batch : loader) {
        CHECK(number(batch, 0) == 4 * batches);
        CHECK(++batches == 1);
      }
    });
  };
  CHECK(with(1, 0) == "record 7 of the data set: expected 2 bytes for a sample of shape (1, 1, 2), got 1");
  CHECK(with(3, 0) == "record 7 of the data set: expected 2 bytes for a sample of shape (1, 1, 2), got 3");
  CHECK(with(2, 4) == "label of record 7 of the data set: expected 0 to 3, got 4");
  CHECK(with(2, -1) == "label of record 7 of the data set: expected 0 to 3, got -1");
}

TEST_CASE("transforms that don't end in floats of the declared shape") {
  const auto with = [](auto transform) {
    return thrown<Error>([&] {
      DataLoader loader{Numbers{4}, transform, {.batch_size = 2}};
      for ([[maybe_unused]] const auto& batch : loader) {
      }
    });
  };
  CHECK(with([](Image&, const TransformDraw&) {}) ==
        "DataLoader: the transform leaves bytes: expected a ToTensor in it");
  CHECK(with(data::Compose{ToTensor{}, [](Image& i, const TransformDraw&) { i.width = 1; }}) ==
        "DataLoader: the transform made a picture of shape (1, 1, 1): expected (1, 1, 2)");
  CHECK(with(data::Normalize{0.5f, 1.0f}) == "Normalize: the image is bytes: expected a ToTensor before it");
}

TEST_CASE("several loaders at once") {
  Loader a{Numbers{30}, ToTensor{}, {.batch_size = 4}};
  Loader b{Numbers{30}, ToTensor{}, {.batch_size = 4}};
  auto ia = a.begin();
  auto ib = b.begin();
  for (std::uint32_t i = 0; ia != a.end(); ++ia, ++ib, i += 4) {
    CHECK(number(*ia, 0) == i);
    CHECK(number(*ib, 0) == i);
  }
  CHECK(ib == b.end());
}
