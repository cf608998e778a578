#include "select/problem_text.h"

#include "base/hash.h"

namespace strop::select {
namespace {

constexpr size_t kLongestAttributes = 1000;

std::string attrs_text(const ops::Attrs& attrs) {
  std::string text = attrs.to_string();
  if (text.size() <= kLongestAttributes) return text;
  return fmt::format("{}… sha256 {}", text.substr(0, kLongestAttributes / 10), sha256(text).hex());
}

Type at_values(const Type& type, const std::map<std::string, Dim>& values) {
  if (!type.is_tensor() || !type.tensor.has_rank()) return type;
  Dims dims;
  for (const Dim& dim : type.tensor.dims()) dims.push_back(dim.substitute(values));
  return TensorType{type.tensor.dtype, std::move(dims), type.tensor.layout};
}

bool is_static(const Type& type) { return type.is_none() || (type.is_tensor() && type.tensor.is_static()); }

}  // namespace

std::string problem_text(const tactics::Problem& problem) {
  std::string text = fmt::format("{}({})", problem.op->name, attrs_text(problem.attrs));
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    text += fmt::format("{} {}{}", i == 0 ? "" : ",", problem.is_constant(i) ? "const " : "",
                        problem.has_input(i) ? to_string(problem.inputs[i]) : "none");
  }
  text += " ->";
  for (size_t i = 0; i < problem.outputs.size(); ++i)
    text +=
        fmt::format("{} {}", i == 0 ? "" : ",", problem.outputs[i].is_none() ? "none" : to_string(problem.outputs[i]));
  return text;
}

std::optional<tactics::Problem> at_values(const tactics::Problem& problem,
                                          const std::map<std::string, int64_t>& values) {
  std::map<std::string, Dim> dims;
  for (const auto& [name, value] : values) dims.emplace(name, Dim(value));
  tactics::Problem result = problem;
  result.attrs = problem.attrs.map_dims([&](const Dim& dim) { return dim.substitute(dims); });
  if (!result.attrs.symbols().empty()) return std::nullopt;
  for (std::vector<Type>* types : {&result.inputs, &result.outputs}) {
    for (Type& type : *types) {
      type = at_values(type, dims);
      if (!is_static(type)) return std::nullopt;
    }
  }
  return result;
}

}  // namespace strop::select
