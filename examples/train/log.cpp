#include "log.hpp"

#include <kern/io/safetensors.hpp>
#include <kern/io/tensorboard.hpp>

using namespace kern;

struct Log::Files {
  io::SummaryWriter curves;
  std::string model;
};

Log::Log(const std::string& folder)
    : files_(new Files{io::SummaryWriter(folder), folder + "/model.safetensors"}) {}
Log::~Log() = default;

void Log::add(const char* curve, double value, std::int64_t step) {
  files_->curves.add_scalar(curve, value, step);
}
void Log::save(const std::vector<Parameter>& parameters, const std::string& data) {
  std::vector<io::TensorToSave> tensors;
  for (const Parameter& p : parameters)
    tensors.emplace_back(
        p.name, "F32", p.shape,
        std::span(reinterpret_cast<const std::uint8_t*>(p.values.data()), p.values.size() * sizeof(float)));
  io::save_safetensors(files_->model, std::move(tensors), {{"data", data}});
}
std::string Log::text() const { return kern::text(files_->curves.path(), ", ", files_->model); }
