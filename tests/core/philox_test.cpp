// The expected numbers are the known-answer vectors that the authors of Philox publish with Random123
// (kat_vectors, philox4x32-10).
#include "kern/core/philox.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace kern;
using rng::Block;

TEST_CASE("Philox4x32-10 gives its published vectors") {
  CHECK(rng::philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(rng::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(rng::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a draw depends on each of its arguments") {
  std::set<Block> seen;
  const auto add = [&](Block b) { CHECK(seen.insert(b).second); };
  const auto draw = [](std::uint64_t seed, rng::Stream s, std::uint32_t sub, std::uint32_t step,
                       std::uint32_t group,
                       std::uint32_t item) { return rng::draw(Seed{seed}, s, sub, step, group, item); };
  using enum rng::Stream;
  add(draw(0, init, 0, 0, 0, 0));
  add(draw(1, init, 0, 0, 0, 0));
  add(draw(std::uint64_t{1} << 32, init, 0, 0, 0, 0));
  add(draw(0, dropout, 0, 0, 0, 0));
  add(draw(0, shuffle, 0, 0, 0, 0));
  add(draw(0, init, 1, 0, 0, 0));
  add(draw(0, init, (1u << 24) - 1, 0, 0, 0));
  add(draw(0, init, 0, 1, 0, 0));
  add(draw(0, init, 0, 0, 1, 0));
  add(draw(0, init, 0, 0, 0, 1));
  CHECK_FALSE(seen.insert(draw(0, init, 0, 0, 0, 0)).second);
}

TEST_CASE("uniform numbers lie in [0, 1)") {
  CHECK(rng::uniform(0) == 0.0f);
  CHECK(rng::uniform(0x80000000u) == 0.5f);
  CHECK(rng::uniform(~0u) == 1.0f - 0x1p-24f);
  CHECK(rng::uniform(~0u) < 1.0f);
}
