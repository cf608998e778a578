/// For unit tests: a tactic on every worked case of its operator, against the operator's own evaluation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "tactics/tactic.h"

namespace strop::tactics::testing {

inline Tensor random_input(const ops::WorkedCase& sample, size_t index, std::mt19937& random) {
  for (const auto& [at, tensor] : sample.given) {
    if (at == index) return tensor;
  }
  const TensorType& type = sample.inputs[index].tensor;
  const auto dims = *as_constants(type.dims());
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> positive(0.1, 2);
  std::uniform_int_distribution<int> integers(-9, 9);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) {
    value = !is_float(type.dtype) ? integers(random) : sample.random_positive ? positive(random) : normal(random);
  }
  return store_f64(type.dtype, dims, values);
}

/// Runs `tactic` on `sample` with `workers` threads; false if the tactic refuses it.
inline bool expect_like_reference(const Tactic& tactic, const ops::Operator& op, const ops::WorkedCase& sample,
                                  int workers) {
  SCOPED_TRACE(fmt::format("{} {} workers={}", tactic.name, sample.name, workers));
  std::mt19937 random(7);
  std::vector<Value> inputs;
  std::vector<Buffer> in, out;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    inputs.emplace_back(random_input(sample, i, random));
    in.push_back({const_cast<void*>(inputs.back().tensor().raw()), 0});
  }
  const auto threads = make_thread_pool(workers);
  const auto expected = ops::evaluate({op, sample.attrs, {}, inputs, sample.output_count, *threads}).value();
  Problem problem{&op, sample.attrs, sample.inputs, {}, {}, {}};
  for (const Value& value : expected) problem.outputs.push_back(value.type());
  if (tactic.why_not(problem)) return false;
  const auto launch = tactic.prepare({problem, tactic.configs(problem).front(), workers, {}, {}});
  EXPECT_TRUE(launch.ok());
  std::vector<Tensor> results;
  for (const Value& value : expected) {
    results.emplace_back(value.tensor().dtype(), value.tensor().dims());
    out.push_back({results.back().mutable_raw(), 0});
  }
  const Tensor workspace(DType::F64, {(*launch)->workspace_bytes() / 8 + 16});
  auto address = (reinterpret_cast<uintptr_t>(workspace.mutable_raw()) + 63) / 64 * 64;
  EXPECT_TRUE((*launch)->run({in, out, reinterpret_cast<void*>(address), *threads}).ok());
  for (size_t k = 0; k < results.size(); ++k) {
    const auto got = load_f64(results[k]), want = load_f64(expected[k].tensor());
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
      EXPECT_LE(std::abs(got[i] - want[i]), 5e-6 * (1 + std::abs(want[i]))) << "result " << k << " element " << i;
      if (::testing::Test::HasFailure()) return true;
    }
  }
  return true;
}

/// On all cases, with one and with three workers: how many cases the tactic took.
inline int expect_like_reference_on_all_cases(std::string_view tactic_name, const ops::Operator& op) {
  const Tactic* tactic = builtin_cpu_tactics().find(tactic_name);
  EXPECT_NE(tactic, nullptr) << tactic_name;
  int taken = 0;
  for (const ops::WorkedCase& sample : op.cases()) {
    if (expect_like_reference(*tactic, op, sample, 1)) ++taken;
    expect_like_reference(*tactic, op, sample, 3);
  }
  return taken;
}

}  // namespace strop::tactics::testing
