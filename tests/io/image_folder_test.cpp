#include "kern/io/image_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "kern/data/loader.hpp"
#include "support/files.hpp"
#include "support/pictures.hpp"

using namespace kern;
using namespace kern::testing;

namespace {
using Colour = io::ImageFolder<Shape<3, 5, 7>>;
const data::Bytes rgb = data::read_file(golden_picture("rgb.png"));

/// A copy of a golden picture, or anything else.
void put(const Folder& folder, const std::string& name, const data::Bytes& bytes = rgb) {
  write(folder / name, bytes);
}
template <class Set = Colour>
std::string error(const Folder& folder) {
  return thrown<DataError>([&] { Set{folder.path()}.get(0); });
}
}  // namespace

TEST_CASE("classes and files come in torchvision's order") {
  const Folder folder;
  // What torchvision.datasets.ImageFolder gives of these files.
  for (const char* name : {"dog/b.PNG", "dog/a/z.png", "dog/a.png", "dog/a-b/1.jpeg", "Zebra/x.jpg",
                           "ant/10.png", "ant/9.png", "ant/notes.txt", "readme.png"})
    put(folder, name);
  const Colour set{folder.path()};
  static_assert(data::Dataset<Colour>);
  CHECK(set.class_names() == std::vector<std::string>{"Zebra", "ant", "dog"});
  CHECK(set.classes() == 3);
  CHECK(set.class_to_idx() == std::map<std::string, std::int32_t>{{"Zebra", 0}, {"ant", 1}, {"dog", 2}});
  const std::pair<const char*, int> expected[] = {{"Zebra/x.jpg", 0},   {"ant/10.png", 1}, {"ant/9.png", 1},
                                                  {"dog/a.png", 2},     {"dog/b.PNG", 2},  {"dog/a/z.png", 2},
                                                  {"dog/a-b/1.jpeg", 2}};
  REQUIRE(set.size() == std::size(expected));
  for (std::size_t i = 0; i < set.size(); ++i) {
    CHECK(set.samples()[i].first == folder / expected[i].first);
    CHECK(set.samples()[i].second == expected[i].second);
  }
}

TEST_CASE("pictures of either format, in colours and in grey") {
  const Folder folder;
  for (const char* name : {"palette_alpha", "rgba", "gray4", "interlaced", "rgb_key"})
    put(folder, text("some/", name, ".png"), data::read_file(golden_picture(text(name, ".png"))));
  const Colour set{folder.path()};
  int found = each_golden_picture("/png", [&](const std::string& path, const data::Bytes& pixels) {
    for (std::size_t i = 0; i < set.size(); ++i)
      if (set.samples()[i].first.ends_with(path.substr(path.rfind('/')))) {
        const data::Record r = set.get(i);
        CHECK(data::Bytes(r.pixels.begin(), r.pixels.end()) == pixels);
      }
  });
  CHECK(found == 12);

  const Folder photos;
  put(photos, "a/wrong_name.png", data::read_file(golden_picture("jpeg_420.jpg")));
  const io::ImageFolder<Shape<1, 21, 35>> grey{photos.path()};
  each_golden_picture("/jpeg", [&](const std::string& path, const data::Bytes& pixels) {
    if (!path.ends_with("jpeg_420.jpg")) return;
    for (std::size_t i = 0; i < 21 * 35; ++i)  // within half of ITU-R 601-2's luma
      CHECK(std::abs(grey.get(0).pixels[i] - (0.299 * pixels[3 * i] + 0.587 * pixels[3 * i + 1] +
                                              0.114 * pixels[3 * i + 2])) < 0.501);
  });
}

TEST_CASE("pictures of other sizes are resized if that is asked for") {
  const Folder folder;
  put(folder, "a/1.png");
  const io::Picture p = io::read_picture(folder / "a/1.png");
  const auto pixels = [&](io::Fit fit) {
    const io::ImageFolder<Shape<3, 4, 4>> set{folder.path(), fit};
    const auto got = set.get(0).pixels;
    return data::Bytes(got.begin(), got.end());
  };
  CHECK(pixels(io::Fit::resize) == io::resize(p, 4, 4).pixels);
  CHECK(pixels(io::Fit::resize_and_crop) == io::resize_and_crop(p, 4, 4).pixels);
}

TEST_CASE("what is wrong is named") {
  CHECK(thrown<DataError>([] { Colour{"nowhere"}; }) ==
        "nowhere: no such folder: expected one with the classes' files");
  const Folder folder;
  put(folder, "a.png");
  CHECK(error(folder) == folder.path() + ": expected a folder for each class, found none");
  put(folder, "c/notes.txt");
  CHECK(error(folder) == folder / "c: expected pictures (.png, .jpg, .jpeg), found none");
  put(folder, "c/x.png", {1, 2, 3});
  CHECK(error(folder) == folder / "c/x.png: is neither a PNG nor a JPEG picture");
  put(folder, "c/x.png", {rgb.begin(), rgb.begin() + 60});
  CHECK(error(folder) == folder / "c/x.png: cannot be read as a PNG picture: the file is cut off");
  put(folder, "c/x.png");
  CHECK(
      error<io::ImageFolder<Shape<3, 7, 5>>>(folder) ==
      folder /
          "c/x.png: expected a picture of 7 x 5, got 5 x 7 (Fit::resize and Fit::resize_and_crop take any)");
  put(folder, "c/y.webp");
  CHECK(error(folder) == folder / "c/y.webp: expected PNG and JPEG pictures only");
}

TEST_CASE("several threads read the same batches, and name a file that is damaged at its batch") {
  const Folder folder;
  const data::Bytes photo = data::read_file(golden_picture("jpeg_420.jpg"));
  for (int i = 0; i < 12; ++i) {
    put(folder, text("a/", 10 + i, ".jpg"), photo);
    put(folder, text("b/", 10 + i, ".png"));
  }
  const io::ImageFolder<Shape<3, 5, 7>> set{folder.path(), io::Fit::resize};
  const std::string damaged = folder / "a/17.jpg";
  // -> the values of an epoch's batches, up to the error, if there is one.
  const auto epoch = [](auto& loader, std::string* error = nullptr) {
    std::vector<float> values;
    const auto loop = [&] {
      for (const auto& batch : loader) {
        const auto& x = batch.images;
        values.insert(values.end(), x.data(), x.data() + x.size());
      }
    };
    if (error)
      *error = thrown<DataError>(loop);
    else
      loop();
    return values;
  };
  std::vector<float> whole, part;
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    put(folder, "a/17.jpg", photo);
    data::DataLoader loader{
        set, data::ToTensor{}, {.batch_size = 5, .shuffle = true, .num_workers = workers, .seed = Seed{3}}};
    const auto values = epoch(loader);
    if (workers == 0) whole = values;
    CHECK(values.size() == 24 * 105);
    CHECK(values == whole);

    put(folder, "a/17.jpg", {photo.begin(), photo.end() - 20});
    std::string error;
    const auto before = epoch(loader, &error);
    if (workers == 0) part = before;
    CHECK(error == damaged + ": cannot be read as a JPEG picture: Premature end of JPEG file");
    const auto order = loader.order(1);
    const auto place = std::find(order.begin(), order.end(), 7u) - order.begin();
    CHECK(before.size() == std::size_t(place / 5 * 5 * 105));
    CHECK(before == part);
  }
}
