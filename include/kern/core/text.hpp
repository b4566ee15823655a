// Messages from texts and numbers.
#pragma once
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "compiler.hpp"

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

  /// The pieces one behind the other; a real number in six digits, with a decimal point in any locale.
  [[gnu::cold]] static std::string join(std::initializer_list<TextPiece> pieces) {
    std::string all;
    for (const TextPiece& p : pieces) {
      char digits[32];
      char* const limit = digits + sizeof digits;
      switch (p.kind_) {
        case Kind::text:
          all += p.text_;
          break;
        case Kind::whole:
          all.append(digits, std::to_chars(digits, limit, p.whole_).ptr);
          break;
        case Kind::natural:
          all.append(digits, std::to_chars(digits, limit, p.natural_).ptr);
          break;
        case Kind::real:
          all.append(digits, std::to_chars(digits, limit, p.real_, std::chars_format::general, 6).ptr);
          break;
      }
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
