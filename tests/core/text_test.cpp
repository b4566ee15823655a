#include <doctest/doctest.h>

#include <kern/core/text.hpp>
#include <limits>

using kern::text;

TEST_CASE("texts and numbers of every kind, one behind the other") {
  CHECK(text() == "");
  CHECK(text("expected ", 3, ", got ", std::string("none"), std::string_view("!")) ==
        "expected 3, got none!");
  CHECK(text(std::numeric_limits<long long>::min(), " ", std::numeric_limits<unsigned long long>::max()) ==
        "-9223372036854775808 18446744073709551615");
  CHECK(text(std::size_t{7}, ",", short{-7}, ",", std::uint8_t{200}) == "7,-7,200");
  CHECK(text(0.5, " ", -1.0f, " ", 1e300, " ", std::numeric_limits<double>::infinity()) ==
        "0.5 -1 1e+300 inf");
}
