// Inference of every operator on its worked cases with less known than there is: it must accept them, and whatever it
// says must hold for the evaluated results.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ops/operator.h"

namespace strop::ops {
namespace {

Tensor random_tensor(const TensorType& type, bool positive, std::mt19937& random) {
  const auto dims = *as_constants(type.dims());
  if (type.dtype == DType::String || is_complex(type.dtype)) return Tensor(type.dtype, dims);
  if (is_float(type.dtype)) {
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = (positive ? 0.1 : -1.0) + static_cast<double>(random() % 1000) / 500;
    return store_f64(type.dtype, dims, values);
  }
  std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 11) - (positive ? 0 : 5);
  return store_i64(type.dtype, dims, values);
}

std::vector<Value> operands(const WorkedCase& worked) {
  std::mt19937 random(1);
  std::vector<Value> values(worked.inputs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Type& type = worked.inputs[i];
    if (!type.is_none()) values[i] = random_tensor(type.tensor, worked.random_positive, random);
  }
  for (const auto& [index, tensor] : worked.given) values[index] = tensor;
  return values;
}

bool has_only_tensors(const WorkedCase& worked) {
  return std::ranges::all_of(worked.inputs, [](const Type& type) { return type.is_none() || type.is_tensor(); });
}

/// Types that say less than the case's, and the values of the symbols in them.
struct Weakened {
  std::string what;
  std::vector<Type> types;
  std::map<std::string, int64_t> symbols;
};

/// Every dimension above 1 a symbol, equal ones the same; each operand of unknown rank; all of them.
std::vector<Weakened> weakened(const std::vector<Type>& types) {
  Weakened symbolic{"symbolic dimensions", types, {}};
  Weakened unranked{"unknown ranks", types, {}};
  std::vector<Weakened> all;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].is_none()) continue;
    const TensorType& type = types[i].tensor;
    for (int64_t axis = 0; axis < type.rank(); ++axis) {
      const int64_t size = type.dim(axis).constant();
      if (size <= 1) continue;
      const std::string name = fmt::format("n{}", size);
      symbolic.symbols[name] = size;
      (*symbolic.types[i].tensor.shape)[static_cast<size_t>(axis)] = Dim::symbol(name);
    }
    unranked.types[i] = Type::unranked(type.dtype);
    all.push_back({fmt::format("unknown rank of operand {}", i), types, {}});
    all.back().types[i] = unranked.types[i];
  }
  all.push_back(std::move(symbolic));
  all.push_back(std::move(unranked));
  return all;
}

/// Why `inferred` does not hold for the tensor; empty if it does.
std::string contradiction(const Type& inferred, const Tensor& tensor, const std::map<std::string, int64_t>& symbols) {
  if (!inferred.is_tensor() || inferred.tensor.dtype != tensor.dtype()) return "another type";
  if (!inferred.tensor.has_rank()) return "";
  if (inferred.tensor.rank() != tensor.rank()) return "another rank";
  const auto lookup = [&](const std::string& name) {
    const auto it = symbols.find(name);
    return it == symbols.end() ? std::optional<int64_t>() : it->second;
  };
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const auto size = inferred.tensor.dim(axis).evaluate(lookup);
    if (size && *size != tensor.dim(axis)) return fmt::format("axis {} is {}, not {}", axis, *size, tensor.dim(axis));
  }
  return "";
}

void check_case(const Operator& op, const WorkedCase& worked) {
  SingleThread thread;
  const auto inputs = operands(worked);
  const auto results = evaluate({op, worked.attrs, {}, inputs, worked.output_count, thread});
  ASSERT_TRUE(results.ok()) << results.error().message;
  for (const Weakened& weak : weakened(worked.inputs)) {
    SCOPED_TRACE(weak.what);
    InferContext ctx(worked.attrs, weak.types, worked.output_count, "?");
    const auto inferred = op.infer(ctx);
    ASSERT_TRUE(inferred.ok()) << inferred.error().message;
    for (size_t i = 0; i < worked.output_count; ++i) {
      if (!(*results)[i].is_tensor()) continue;
      const std::string why = contradiction(ctx.outputs[i], (*results)[i].tensor(), weak.symbols);
      EXPECT_EQ(why, "") << "output " << i << " inferred as " << to_string(ctx.outputs[i]);
    }
  }
}

TEST(Inference, SaysLessButNeverOtherwise) {
  for (const Operator* op : builtin_operators().all()) {
    if (op->has_regions) continue;
    for (const WorkedCase& worked : op->cases()) {
      if (!has_only_tensors(worked)) continue;
      SCOPED_TRACE(fmt::format("{} {}", op->name, worked.name));
      check_case(*op, worked);
    }
  }
}

}  // namespace
}  // namespace strop::ops
