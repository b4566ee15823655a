// Philox's published vector for an all-zero counter and key.
#include <cstdio>
#include <kern/core/philox.hpp>

kern::random::Block from_other();

int main() {
  const kern::random::Block expected{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  if (kern::random::philox({0, 0, 0, 0}, {0, 0}) != expected || from_other() != expected) {
    std::puts("wrong numbers");
    return 1;
  }
  std::puts("consumer ok");
}
