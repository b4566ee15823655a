#include "log.hpp"

#include <kern/io/tensorboard.hpp>

struct Log::Curves {
  kern::io::SummaryWriter writer;
};

Log::Log(const std::string& folder) : curves_(new Curves{kern::io::SummaryWriter(folder)}) {}
Log::~Log() = default;

void Log::add(const char* curve, double value, std::int64_t step) {
  curves_->writer.add_scalar(curve, value, step);
}
std::string Log::path() const { return curves_->writer.path(); }
