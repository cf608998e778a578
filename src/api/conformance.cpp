#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/compile_options.h"
#include "api/impl.h"
#include "api/value_files.h"
#include "tensor/convert.h"

namespace strop {
namespace {

namespace fs = std::filesystem;

/// Where a case's files are. A data set is a folder with files "input_0.pb"; flat models have one with "light_NAME_".
struct CaseFiles {
  std::string name;
  fs::path model;
  std::vector<std::string> data_sets;  ///< path and prefix of the files
  bool makes_inputs = false;           ///< the standard's runner makes the inputs itself
};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

CaseFiles folder_case(const fs::path& folder) {
  CaseFiles files{folder.filename().string(), folder / "model.onnx", {}, false};
  for (const fs::path& entry : sorted_entries(folder)) {
    if (entry.filename().string().starts_with("test_data_set_")) files.data_sets.push_back((entry / "").string());
  }
  return files;
}

Result<std::vector<CaseFiles>> find_cases(const std::string& folder) {
  if (!fs::is_directory(folder)) return error(ErrorCode::NotFound, "'{}' is not a folder", folder);
  std::vector<CaseFiles> cases;
  if (fs::exists(fs::path(folder) / "model.onnx")) cases.push_back(folder_case(fs::canonical(folder)));
  for (const fs::path& entry : sorted_entries(folder)) {
    if (fs::exists(entry / "model.onnx")) {
      cases.push_back(folder_case(entry));
    } else if (entry.extension() == ".onnx" && entry.filename() != "model.onnx") {
      const std::string prefix = (entry.parent_path() / entry.stem()).string() + "_";
      cases.push_back({entry.stem().string(), entry, {prefix}, true});
    }
  }
  if (cases.empty())
    return error(ErrorCode::NotFound, "'{}' holds no backend tests: neither NAME/model.onnx nor NAME.onnx", folder);
  std::sort(cases.begin(), cases.end(), [](const CaseFiles& a, const CaseFiles& b) { return a.name < b.name; });
  return cases;
}

/// The name (Strop's) of an operator among the program's steps that fits `matches`; "" where none does.
template <class Matches>
std::string find_operator(const runtime::Program& program, Matches&& matches) {
  for (const auto& steps : program.steps) {
    for (const runtime::ProgramStep& step : steps) {
      if (step.op && matches(*step.op)) return std::string(step.op->name);
    }
  }
  return "";
}

/// A Fourier transform's rounding error is bounded relative to the largest element, not to each: the standard's own
/// expected values, made in single precision, hold 2e-7 where 0 is right beside elements of 50 (Higham, Accuracy and
/// Stability of Numerical Algorithms, section 24.1).
bool is_fourier(const ops::Operator& op) { return op.name == "DFT" || op.name == "STFT"; }

/// Of a real tensor.
double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.count(); ++i)
    largest = std::max(largest, std::fabs(load_scalar(tensor.dtype(), tensor.raw(), i)));
  return largest;
}

/// As numpy.allclose with equal_nan: |actual - expected| <= atol + rtol * |expected|.
bool is_close(double actual, double expected, const ConformanceOptions& options) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= options.atol + options.rtol * std::fabs(expected);
}

/// "" or what differs.
std::string difference(const Tensor& actual, const Tensor& expected, const ConformanceOptions& options) {
  if (actual.dtype() != expected.dtype())
    return fmt::format("has type {}, {} is right", to_string(actual.dtype()), to_string(expected.dtype()));
  if (actual.dims() != expected.dims()) {
    return fmt::format("has shape {}, {} is right", to_string(to_dims(actual.dims())),
                       to_string(to_dims(expected.dims())));
  }
  if (actual.dtype() == DType::String) {
    for (size_t i = 0; i < actual.strings().size(); ++i) {
      if (actual.strings()[i] == expected.strings()[i]) continue;
      return fmt::format("element {} is \"{}\", \"{}\" is right", i, actual.strings()[i], expected.strings()[i]);
    }
    return "";
  }
  const bool pairs = is_complex(actual.dtype());
  const DType part = actual.dtype() == DType::C64 ? DType::F32 : pairs ? DType::F64 : actual.dtype();
  const int64_t count = actual.count() * (pairs ? 2 : 1);
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < count; ++i) {
    const double got = load_scalar(part, actual.raw(), i);
    const double wanted = load_scalar(part, expected.raw(), i);
    if (!is_close(got, wanted, options) && wrong++ == 0)
      first = fmt::format("element {} is {}, {} is right", i, got, wanted);
  }
  return wrong == 0 ? "" : fmt::format("{} of {} elements differ: {}", wrong, count, first);
}

std::string difference(const Value& actual, const Value& expected, const ConformanceOptions& options) {
  if (actual.is_tensor() && expected.is_tensor()) return difference(actual.tensor(), expected.tensor(), options);
  if (actual.is_sequence() && expected.is_sequence()) {
    const auto& got = actual.sequence().items;
    const auto& wanted = expected.sequence().items;
    if (got.size() != wanted.size()) return fmt::format("has {} items, {} is right", got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (const std::string what = difference(got[i], wanted[i], options); !what.empty())
        return fmt::format("item {} {}", i, what);
    }
    return "";
  }
  if (actual.is_optional() && expected.is_optional()) {
    const auto& got = actual.optional().held;
    const auto& wanted = expected.optional().held;
    if (!got && !wanted) return "";
    if (!got || !wanted) return got ? "is not empty, empty is right" : "is empty";
    return difference(*got, *wanted, options);
  }
  // An optional that holds something is declared as what it holds by some of the tests.
  if (actual.is_optional() && actual.optional().held) return difference(*actual.optional().held, expected, options);
  if (expected.is_optional() && expected.optional().held) return difference(actual, *expected.optional().held, options);
  return "is another kind of value";
}

Result<Type> declared_type(const plan::PortDesc& port) {
  if (port.type.kind == TypeKind::Tensor) return Type::unranked(port.type.dtype);
  STROP_ASSIGN(Type element, parse_type(port.type.element));
  return port.type.kind == TypeKind::Sequence ? Type::sequence(std::move(element)) : Type::optional(std::move(element));
}

/// arange(n) / n in the input's shape, unknown dimensions as 1: as the standard's own runner makes it.
Result<Value> made_input(const plan::PortDesc& port, const Type& type) {
  if (port.type.kind != TypeKind::Tensor || port.type.dtype != DType::F32) {
    return error(ErrorCode::Unsupported, "input '{}' is not a tensor of f32, the only type that inputs are made for",
                 port.name);
  }
  Tensor tensor(DType::F32, *as_constants(type.tensor.dims()));
  auto* at = tensor.mutable_data<float>();
  const auto count = static_cast<double>(tensor.count());
  for (int64_t i = 0; i < tensor.count(); ++i) at[i] = static_cast<float>(static_cast<double>(i) / count);
  return Value(std::move(tensor));
}

class CaseRunner {
 public:
  CaseRunner(const CaseFiles& files, const ConformanceOptions& options, const Runtime& runtime)
      : files_(files), options_(options), runtime_(runtime) {}

  ConformanceCase run() {
    const auto engine = build(files_.model.string(), options_.build, runtime_);
    if (!engine.ok()) {
      const bool unsupported = engine.error().code == ErrorCode::Unsupported;
      return outcome(unsupported ? CaseResult::Unsupported : CaseResult::Failed, engine.error().message);
    }
    const std::string random =
        find_operator(*engine->impl().program, [](const ops::Operator& op) { return !op.is_deterministic; });
    if (!random.empty()) {
      return outcome(CaseResult::Skipped,
                     fmt::format("{} draws random numbers, which ones the standard leaves open", random));
    }
    if (files_.data_sets.empty()) return outcome(CaseResult::Skipped, "there is no test data");
    for (const std::string& data : files_.data_sets) {
      if (!fs::exists(data + "output_0.pb")) return outcome(CaseResult::Skipped, "there is no expected output");
      const auto what = run_data_set(engine->impl(), data);
      if (!what.ok()) return outcome(CaseResult::Failed, what.error().message);
      if (!what->empty()) return outcome(CaseResult::Failed, *what);
    }
    return outcome(CaseResult::Passed, "");
  }

 private:
  ConformanceCase outcome(CaseResult result, std::string reason) const {
    return {files_.name, result, std::move(reason)};
  }

  Result<std::vector<Value>> read_inputs(const Engine::Impl& engine, const std::string& data) const {
    const plan::Block& block = engine.image.plan->blocks[0];
    std::vector<Value> values;
    std::vector<Type> types;
    if (files_.makes_inputs) {
      STROP_ASSIGN(types, api::input_types(engine.image, {}));
    }
    for (size_t i = 0; i < block.inputs.size(); ++i) {
      const plan::PortDesc& port = block.inputs[i];
      if (files_.makes_inputs) {
        STROP_ASSIGN(Value made, made_input(port, types[i]));
        values.push_back(std::move(made));
        continue;
      }
      const std::string path = fmt::format("{}input_{}.pb", data, i);
      if (!fs::exists(path)) {
        if (port.type.kind != TypeKind::Optional)
          return error(ErrorCode::NotFound, "there are no data for input '{}'", port.name);
        STROP_ASSIGN(const Type type, declared_type(port));
        values.emplace_back(OptionalValue{*type.element, nullptr});
        continue;
      }
      STROP_ASSIGN(const Type type, declared_type(port));
      STROP_ASSIGN(Value value, api::read_value(path, type));
      values.push_back(std::move(value));
    }
    return values;
  }

  /// "" or what is wrong.
  Result<std::string> run_data_set(const Engine::Impl& engine, const std::string& data) const {
    const plan::Block& block = engine.image.plan->blocks[0];
    STROP_ASSIGN(const std::vector<Value> inputs, read_inputs(engine, data));
    runtime::Executor executor(engine.program, runtime_.impl()->threads, {1, runtime_.impl()->cancel});
    std::vector<Value> outputs(block.outputs.size());
    STROP_TRY(executor.run(inputs, outputs));
    const bool fourier = !find_operator(*engine.program, is_fourier).empty();
    for (size_t i = 0; i < outputs.size(); ++i) {
      STROP_ASSIGN(const Type type, declared_type(block.outputs[i]));
      STROP_ASSIGN(const Value expected, api::read_value(fmt::format("{}output_{}.pb", data, i), type));
      ConformanceOptions limits = options_;
      if (fourier && expected.is_tensor()) limits.atol *= std::max(1.0, largest_magnitude(expected.tensor()));
      const std::string what = difference(outputs[i], expected, limits);
      if (!what.empty()) return fmt::format("output '{}' {}", block.outputs[i].name, what);
    }
    return std::string();
  }

  const CaseFiles& files_;
  const ConformanceOptions& options_;
  const Runtime& runtime_;
};

}  // namespace

Result<std::vector<ConformanceCase>> run_conformance(const std::string& folder, const ConformanceOptions& options,
                                                     const Runtime& runtime) {
  STROP_ASSIGN(const std::vector<CaseFiles> cases, api::guarded([&] { return find_cases(folder); }));
  STROP_TRY(api::check_environment(options.build, *runtime.impl()->log));
  for (const double tolerance : {options.rtol, options.atol}) {
    if (!std::isfinite(tolerance) || tolerance < 0)
      return error(ErrorCode::InvalidArgument, "a tolerance of {} makes no sense: write a number from 0", tolerance);
  }
  std::vector<ConformanceCase> results;
  for (const CaseFiles& files : cases) {
    if (files.name.find(options.filter) == std::string::npos) continue;
    STROP_TRY(runtime.impl()->cancel.check());
    auto result = api::guarded([&]() -> Result<ConformanceCase> { return CaseRunner(files, options, runtime).run(); });
    STROP_TRY(runtime.impl()->cancel.check());  // it failed, if it did, for that reason
    results.push_back(result.ok() ? std::move(*result)
                                  : ConformanceCase{files.name, CaseResult::Failed, result.error().message});
    if (options.on_case) options.on_case(results.back());
  }
  return results;
}

}  // namespace strop
