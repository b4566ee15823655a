// What TensorBoard shows of a training run, written as PyTorch's SummaryWriter does. Opt-in: needs protozero
// (headers only) and libpng; the CMake target kern::tensorboard.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "../core/error.hpp"
#include "../tensor/tensor.hpp"
#include "event_file.hpp"
#include "graph_def.hpp"
#include "png.hpp"
#include "utf8.hpp"

namespace kern::io {

namespace detail {

/// The limits of a histogram's bins in TensorBoard: 0 and +-1e-12 * 1.1^k below 1e20.
inline const std::vector<double>& histogram_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> l{0};
    for (double v = 1e-12; v < 1e20; v *= 1.1) {
      l.push_back(v);
      l.push_back(-v);
    }
    std::ranges::sort(l);
    return l;
  }();
  return limits;
}

// The messages: numbers of the fields of tensorflow/core/framework/summary.proto, tensor.proto and
// tensorflow/core/util/event.proto. A field that is 0 is left out, as protobuf does.
inline void add_double(protozero::pbf_writer& message, protozero::pbf_tag_type field, double value) {
  if (value != 0 || std::signbit(value)) message.add_double(field, value);
}

/// Values as a HistogramProto. Bins outside those that hold any are left out, but for an empty one before
/// them, which says where the first begins.
class Histogram {
 public:
  void add(double value) {
    const std::vector<double>& limits = histogram_limits();
    const auto above = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
    ++counts_[std::size_t(std::clamp<std::ptrdiff_t>(above - 1, 0, std::ptrdiff_t(counts_.size()) - 1))];
    min_ = number_ == 0 ? value : std::min(min_, value);
    max_ = number_ == 0 ? value : std::max(max_, value);
    sum_ += value;
    squares_ += value * value;
    ++number_;
  }
  std::size_t number() const { return number_; }
  std::string message() const {
    const auto any = [](double n) { return n != 0; };
    const auto first = std::ranges::find_if(counts_, any);
    const auto end = std::find_if(counts_.rbegin(), counts_.rend(), any).base();
    std::vector<double> counts{0};
    counts.insert(counts.end(), first, end);
    const auto limit = histogram_limits().begin() + (first - counts_.begin());
    std::string s;
    protozero::pbf_writer m{s};
    add_double(m, 1, min_);
    add_double(m, 2, max_);
    add_double(m, 3, double(number_));
    add_double(m, 4, sum_);
    add_double(m, 5, squares_);
    m.add_packed_double(6, limit, limit + std::ptrdiff_t(counts.size()));
    m.add_packed_double(7, counts.begin(), counts.end());
    return s;
  }

 private:
  std::vector<double> counts_ = std::vector<double>(histogram_limits().size() - 1);
  double min_ = 0, max_ = 0, sum_ = 0, squares_ = 0;
  std::size_t number_ = 0;
};

inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace detail

/// Seconds since 1970, or now.
struct WallTime {
  double seconds = detail::seconds_since_1970();
};

/// PyTorch's torch.utils.tensorboard.SummaryWriter: a new event file in a folder, one folder a run.
/// `tensorboard --logdir FOLDER` shows them all, also while they grow. What is added is with the system when
/// the call returns: a crash of the program loses nothing, and what is in the file can be read. One thread at
/// a time. Every call throws DataError if the file can't be written (it then is as it was before),
/// ArgumentError for a tag that is not UTF-8: TensorBoard would read no further.
class SummaryWriter {
 public:
  /// Makes the folder and the file.
  explicit SummaryWriter(const std::string& folder, WallTime time = {}) : file_(folder, time.seconds) {
    std::string event;
    protozero::pbf_writer m{event};
    m.add_double(1, time.seconds);
    m.add_string(3, "brain.Event:2");
    file_.add(event);
  }

  /// A point of a curve. Curves whose tags begin alike up to a slash, "loss/train", are shown together.
  void add_scalar(std::string_view tag, double value, std::int64_t step = 0, WallTime time = {}) {
    add(tag, step, time, [&](protozero::pbf_writer& v) { v.add_float(2, float(value)); });
  }
  /// How the values of a tensor, a view, or a vector are distributed. Throws ArgumentError if there are none,
  /// or one is not finite.
  template <class Values>
  void add_histogram(std::string_view tag, const Values& values, std::int64_t step = 0, WallTime time = {}) {
    detail::Histogram histogram;
    for (const auto x : values) {
      if (!std::isfinite(double(x)))
        throw ArgumentError(text("add_histogram(\"", tag, "\"): value ", histogram.number(),
                                 ": expected a finite number, got ", double(x)));
      histogram.add(double(x));
    }
    if (histogram.number() == 0)
      throw ArgumentError(text("add_histogram(\"", tag, "\"): expected at least 1 value, got 0"));
    add(tag, step, time, [&](protozero::pbf_writer& v) { v.add_message(5, histogram.message()); });
  }
  /// A picture (channels, height, width), grey, RGB or RGBA: bytes, or real numbers of 0 to 1 (others are
  /// clipped; x becomes the whole part of 255 x). Throws ArgumentError for other channels, or no pixels.
  template <class T, class S>
  void add_image(std::string_view tag, const TensorView<T, S>& image, std::int64_t step = 0,
                 WallTime time = {}) {
    using Element = std::remove_const_t<T>;
    static_assert(S::rank == 3, "add_image: expected (channels, height, width)");
    static_assert(std::is_floating_point_v<Element> || std::is_same_v<Element, std::uint8_t>,
                  "add_image: expected bytes, or real numbers of 0 to 1");
    const int channels = image.extent(0), height = image.extent(1), width = image.extent(2);
    const std::size_t area = std::size_t(height) * std::size_t(width);
    std::vector<std::uint8_t> bytes(image.size());
    for (std::size_t c = 0; c < std::size_t(channels); ++c)
      for (std::size_t p = 0; p < area; ++p) {
        const Element x = image.data()[c * area + p];
        std::uint8_t& to = bytes[p * std::size_t(channels) + c];
        if constexpr (std::is_same_v<Element, std::uint8_t>)
          to = x;
        else
          to = x > 0 ? std::uint8_t(std::min(float(x) * 255.0f, 255.0f)) : std::uint8_t{0};
      }
    const std::string png = encode_png(height, width, channels, bytes);
    add(tag, step, time, [&](protozero::pbf_writer& v) {
      protozero::pbf_writer m{v, 4};
      m.add_int32(1, height);
      m.add_int32(2, width);
      m.add_int32(3, channels);
      m.add_bytes(4, png);
    });
  }
  template <class T, class S>
  void add_image(std::string_view tag, const Tensor<T, S>& image, std::int64_t step = 0, WallTime time = {}) {
    add_image(tag, image.view(), step, time);
  }
  /// A text, in Markdown. Throws ArgumentError if it is not UTF-8.
  void add_text(std::string_view tag, std::string_view words, std::int64_t step = 0, WallTime time = {}) {
    if (!detail::is_utf8(words))
      throw ArgumentError(text("add_text(\"", tag, "\"): expected a text in UTF-8"));
    add(text(tag, "/text_summary"), step, time, [&](protozero::pbf_writer& v) {
      {
        protozero::pbf_writer tensor{v, 8};
        tensor.add_enum(1, 7);  // of strings
        {
          protozero::pbf_writer shape{tensor, 2};
          protozero::pbf_writer dimension{shape, 2};
          dimension.add_int64(1, 1);
        }
        tensor.add_bytes(8, words.data(), words.size());
      }
      protozero::pbf_writer metadata{v, 9};
      protozero::pbf_writer plugin{metadata, 1};
      plugin.add_string(1, "text");
    });
  }

  /// A model's layers and what each reads, for the page "Graphs". One a file: TensorBoard shows the last.
  /// Throws ArgumentError if a layer's name is not UTF-8.
  template <class Model>
  void add_graph(const Model& model, WallTime time = {}) {
    const std::string graph = detail::graph_def(model);
    std::string event;
    protozero::pbf_writer m{event};
    m.add_double(1, time.seconds);
    m.add_bytes(4, graph);
    file_.add(event);
  }

  /// Brings all to the disk: only a crash of the machine needs it.
  void flush() { file_.flush(); }
  /// The event file.
  const std::string& path() const { return file_.path(); }

 private:
  template <class Fill>
  void add(std::string_view tag, std::int64_t step, WallTime time, Fill fill) {
    if (!detail::is_utf8(tag)) throw ArgumentError(text("SummaryWriter: expected a tag in UTF-8, got ", tag));
    std::string event;
    {
      protozero::pbf_writer m{event};
      m.add_double(1, time.seconds);
      if (step != 0) m.add_int64(2, step);
      protozero::pbf_writer summary{m, 5};
      protozero::pbf_writer value{summary, 1};
      value.add_string(1, tag.data(), tag.size());
      fill(value);
    }
    file_.add(event);
  }

  EventFile file_;
};

}  // namespace kern::io
