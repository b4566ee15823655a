// What the trainer's command line says.
#pragma once
#include <cstdint>
#include <string>

struct Options {
  std::string data{};  // a folder
  int epochs = 10, batch_size = 64;
  double lr = 0.01, momentum = 0;
  std::uint64_t seed = 0;
  int limit = 0;  // of each split's pictures; 0: all
  bool synthetic = false;
  std::string device = "auto";
  int threads = 0;
  bool compare = false, explain = false;
  int log_every = 100;                 // steps
  std::string out{};                   // a folder; empty: a new one under runs
  std::string checkpoint{}, resume{};  // files; empty: none
  int checkpoint_every = 0;            // steps; 0: only after each epoch
};
