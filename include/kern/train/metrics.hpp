// How good predictions are, batch by batch. A metric has update(scores, labels): scores (N, classes) and the
// N true classes; torchmetrics' names. Trainer::evaluate(loader, metrics...) calls it for each batch.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace kern {

namespace detail {

/// Throws unless there is a label for each sample, and each is a class.
inline void check_labels(const char* metric, int samples, int classes, std::span<const std::int32_t> labels) {
  if (std::size_t(samples) != labels.size())
    throw ShapeError(
        text(metric, ": expected ", samples, " labels, one for each sample, got ", labels.size()));
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      throw DataError(
          text(metric, ": label of sample ", i, ": expected 0 to ", classes - 1, ", got ", labels[i]));
}
/// nan is larger than any number, as in torch.topk.
template <class T>
bool larger(T a, T b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}
/// How many classes come before `c`: those with larger scores, and those with equal ones and a smaller
/// number.
template <class T>
int rank(std::span<const T> scores, std::size_t c) {
  int before = 0;
  for (std::size_t j = 0; j < scores.size(); ++j)
    before += larger(scores[j], scores[c]) || (j < c && !larger(scores[c], scores[j]));
  return before;
}
/// f(scores of a sample, its label) for each sample of a batch.
template <class Scores, class F>
void each_sample(const char* metric, const Scores& batch, std::span<const std::int32_t> labels, F f) {
  using T = std::remove_const_t<typename Scores::Element>;
  const TensorView<const T, Shape<dyn, dyn>> scores(batch);
  const std::size_t classes = std::size_t(scores.extent(1));
  check_labels(metric, scores.extent(0), scores.extent(1), labels);
  for (std::size_t i = 0; i < labels.size(); ++i)
    f(std::span<const T>(scores.data() + i * classes, classes), std::size_t(labels[i]));
}

}  // namespace detail

/// The share of samples whose true class is among the top_k with the largest scores. Of equal scores the
/// smaller class comes first, as in torch.argmax and a stable torch.sort (torch.topk leaves it open).
class Accuracy {
 public:
  /// Throws ArgumentError for a top_k below 1.
  explicit Accuracy(int top_k = 1) : top_k_(top_k) {
    if (top_k < 1) throw ArgumentError(text("Accuracy: top_k must be at least 1, got ", top_k));
  }
  /// Throws ShapeError or DataError for labels that don't fit, ArgumentError for fewer classes than top_k.
  template <class Scores>
  void update(const Scores& scores, std::span<const std::int32_t> labels) {
    if (scores.extent(1) < top_k_)
      throw ArgumentError(text("Accuracy: top_k = ", top_k_, " of ", scores.extent(1), " classes"));
    std::size_t right = 0;
    detail::each_sample("Accuracy", scores, labels,
                        [&](auto one, std::size_t label) { right += detail::rank(one, label) < top_k_; });
    right_ += right;
    count_ += labels.size();
  }
  /// 0 to 1; 0 where there were no samples.
  double compute() const { return count_ ? double(right_) / double(count_) : 0; }
  /// Samples.
  std::size_t count() const { return count_; }
  void reset() { right_ = count_ = 0; }

 private:
  int top_k_;
  std::size_t right_ = 0, count_ = 0;
};

/// How many samples of each class were taken for each.
class ConfusionMatrix {
 public:
  /// Throws ArgumentError for no classes.
  explicit ConfusionMatrix(int classes) : classes_(classes) {
    if (classes < 1) throw ArgumentError(text("ConfusionMatrix: expected at least 1 class, got ", classes));
    reset();
  }
  /// What is predicted is the class with the largest score; of equal ones the smallest. Throws ShapeError or
  /// DataError for scores or labels that don't fit.
  template <class Scores>
  void update(const Scores& scores, std::span<const std::int32_t> labels) {
    if (scores.extent(1) != classes_)
      throw ShapeError(
          text("ConfusionMatrix: expected scores of ", classes_, " classes, got ", scores.extent(1)));
    detail::each_sample("ConfusionMatrix", scores, labels, [&](auto one, std::size_t label) {
      std::size_t predicted = 0;
      for (std::size_t c = 1; c < one.size(); ++c)
        if (detail::larger(one[c], one[predicted])) predicted = c;
      ++counts_[label * one.size() + predicted];
    });
  }
  int classes() const { return classes_; }
  /// Samples of class `label` that were taken for `predicted`. Throws ArgumentError for what is no class.
  std::size_t operator()(int label, int predicted) const { return counts_[index(label, predicted)]; }
  /// Samples.
  std::size_t count() const {
    return sum([](int, int) { return true; });
  }
  /// The share of right predictions; 0 where there were no samples. So are the others.
  double accuracy() const {
    return share(sum([](int label, int predicted) { return label == predicted; }), count());
  }
  /// Of the samples that were taken for class c, the share that is of c.
  double precision(int c) const {
    return share((*this)(c, c), sum([c](int, int predicted) { return predicted == c; }));
  }
  /// Of the samples of class c, the share that was taken for c.
  double recall(int c) const {
    return share((*this)(c, c), sum([c](int label, int) { return label == c; }));
  }
  void reset() { counts_.assign(std::size_t(classes_) * std::size_t(classes_), 0); }

 private:
  std::size_t index(int label, int predicted) const {
    for (const int c : {label, predicted})
      if (c < 0 || c >= classes_)
        throw ArgumentError(text("ConfusionMatrix: expected a class of 0 to ", classes_ - 1, ", got ", c));
    return std::size_t(label) * std::size_t(classes_) + std::size_t(predicted);
  }
  template <class Counted>
  std::size_t sum(Counted counted) const {
    std::size_t s = 0;
    for (int i = 0; i < classes_; ++i)
      for (int j = 0; j < classes_; ++j)
        if (counted(i, j)) s += (*this)(i, j);
    return s;
  }
  static double share(std::size_t part, std::size_t all) { return all ? double(part) / double(all) : 0; }

  int classes_;
  std::vector<std::size_t> counts_;
};

/// The matrix as a table, a row for each class and what its samples were taken for; then each one's recall,
/// and below precision and accuracy. With names of the classes if they are given. Throws ArgumentError for
/// another number of names.
inline std::string to_string(const ConfusionMatrix& m, std::span<const char* const> names = {}) {
  if (!names.empty() && int(names.size()) != m.classes())
    throw ArgumentError(text("ConfusionMatrix: expected ", m.classes(), " names, got ", names.size()));
  std::vector<std::vector<std::string>> cells(1, {"true \\ predicted"});
  const auto name = [&](int c) { return names.empty() ? text(c) : std::string(names[std::size_t(c)]); };
  const auto number = [](double share) {
    char s[16];
    std::snprintf(s, sizeof s, "%.3f", share);
    return std::string(s);
  };
  for (int c = 0; c < m.classes(); ++c) cells[0].push_back(name(c));
  cells[0].push_back("recall");
  for (int c = 0; c < m.classes(); ++c) {
    auto& row = cells.emplace_back(1, name(c));
    for (int p = 0; p < m.classes(); ++p) row.push_back(text(m(c, p)));
    row.push_back(number(m.recall(c)));
  }
  auto& last = cells.emplace_back(1, "precision");
  for (int c = 0; c < m.classes(); ++c) last.push_back(number(m.precision(c)));
  last.push_back(text("accuracy ", number(m.accuracy())));

  std::string table;
  for (const auto& row : cells)
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t width = 0;
      for (const auto& other : cells) width = std::max(width, other[i].size());
      const std::string blanks(width - row[i].size(), ' ');
      table += i == 0 ? row[i] + blanks : "  " + blanks + row[i];
      if (i + 1 == row.size()) table += '\n';
    }
  return table;
}

}  // namespace kern
