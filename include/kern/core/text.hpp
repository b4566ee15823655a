// Messages from texts and numbers.
#pragma once
#include <concepts>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kern {

/// A text or a number on its way into a message.
class TextPiece {
 public:
  TextPiece(std::string_view s) : kind_(Kind::text), text_(s) {}
  TextPiece(const std::string& s) : TextPiece(std::string_view(s)) {}
  TextPiece(const char* s) : TextPiece(std::string_view(s)) {}
  TextPiece(std::signed_integral auto n) : kind_(Kind::whole), whole_(n) {}
  TextPiece(std::unsigned_integral auto n) : kind_(Kind::natural), natural_(n) {}
  TextPiece(std::floating_point auto x) : kind_(Kind::real), real_(double(x)) {}

  /// The pieces one behind the other; a real number in six digits.
  [[gnu::cold]] static std::string join(std::initializer_list<TextPiece> pieces) {
    std::string all;
    for (const TextPiece& p : pieces) {
      char digits[32];
      switch (p.kind_) {
        case Kind::text:
          all += p.text_;
          continue;
        case Kind::whole:
          std::snprintf(digits, sizeof digits, "%lld", p.whole_);
          break;
        case Kind::natural:
          std::snprintf(digits, sizeof digits, "%llu", p.natural_);
          break;
        case Kind::real:
          std::snprintf(digits, sizeof digits, "%g", p.real_);
          break;
      }
      all += digits;
    }
    return all;
  }

 private:
  enum class Kind { text, whole, natural, real } kind_;
  union {
    std::string_view text_;
    long long whole_;
    unsigned long long natural_;
    double real_;
  };
};

/// text("expected ", 3, ", got ", n): far less for the compiler than a chain of std::string's +.
template <class... Pieces>
std::string text(const Pieces&... pieces) {
  return TextPiece::join({TextPiece(pieces)...});
}

}  // namespace kern
