// A data set in memory, whichever it was.
#pragma once
#include <algorithm>
#include <cstdint>
#include <kern/kern.hpp>
#include <memory>
#include <vector>

/// The first `limit` pictures of a data set (0: all). Copies share them.
template <class Shape>
class Pictures {
 public:
  using Sample = Shape;
  template <kern::data::Dataset Set>
  Pictures(const Set& set, int limit) : classes_(set.classes()) {
    const std::size_t n = limit > 0 ? std::min(std::size_t(limit), set.size()) : set.size();
    auto pixels = std::make_shared<std::vector<std::uint8_t>>();
    auto labels = std::make_shared<std::vector<std::int32_t>>();
    for (std::size_t i = 0; i < n; ++i) {
      const kern::data::Record r = set.get(i);
      pixels->insert(pixels->end(), r.pixels.begin(), r.pixels.end());
      labels->push_back(r.label);
    }
    pixels_ = pixels, labels_ = labels;
  }
  std::size_t size() const { return labels_->size(); }
  int classes() const { return classes_; }
  kern::data::Record get(std::size_t i) const {
    const std::size_t each = pixels_->size() / size();
    return {{pixels_->data() + i * each, each}, (*labels_)[i]};
  }

 private:
  int classes_;
  std::shared_ptr<const std::vector<std::uint8_t>> pixels_;
  std::shared_ptr<const std::vector<std::int32_t>> labels_;
};
