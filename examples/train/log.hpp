// What a run leaves: curves for TensorBoard, and its parameters.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Compiled apart from the nets: what it includes would take nvcc longer than a net.
class Log {
 public:
  /// Makes the folder. Throws kern::DataError where that, or one of the others, can't be written.
  explicit Log(const std::string& folder);
  ~Log();

  /// A point of a curve.
  void add(const char* curve, double value, std::int64_t step);
  /// A model's parameters, in place of those saved before: what kern::io::load_model and PyTorch load.
  template <class Model>
  void save(const Model& model, const std::string& data) {
    std::vector<Parameter> parameters;
    for (const std::string& name : Model::parameter_names()) {
      const std::vector<int> shape = Model::parameter_shape(name);
      parameters.push_back({name, {shape.begin(), shape.end()}, model.parameter(name)});
    }
    save(parameters, data);
  }
  /// The files.
  std::string text() const;

 private:
  struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  void save(const std::vector<Parameter>& parameters, const std::string& data);

  struct Files;
  std::unique_ptr<Files> files_;
};
