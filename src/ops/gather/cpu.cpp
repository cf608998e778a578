#include <algorithm>
#include <array>

#include "kernels/copy/gather.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/gather/gather.h"
#include "ops/index_data.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PrepareArgs;
using tactics::Problem;

kernels::Indices indices_of(const LaunchArgs& args, bool wide) { return {args.inputs[1].data, wide}; }
bool are_wide(const Problem& problem) { return problem.in(1).dtype == DType::I64; }

Result<void> as_result(std::string_view op, const std::optional<kernels::BadIndex>& bad) {
  return bad ? Result<void>(index_error(op, bad->index, bad->size)) : Result<void>();
}

struct RowsLaunch final : Launch {
  kernels::GatherRows rows;
  bool wide = true;
  Result<void> run(const LaunchArgs& args) const override {
    return as_result(
        "Gather", gather_rows(rows, args.inputs[0].data, indices_of(args, wide), args.outputs[0].data, args.threads));
  }
};

Result<std::unique_ptr<Launch>> prepare_rows(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto data = problem.in_dims(0);
  const auto rank = static_cast<int64_t>(data.size());
  STROP_ASSIGN(const int64_t axis, normalize_axis(problem.attrs.as<GatherAttrs>().axis, rank, "axis"));
  auto launch = std::make_unique<RowsLaunch>();
  launch->rows = {count_between(data, 0, axis), data[static_cast<size_t>(axis)], element_count(problem.in_dims(1)),
                  count_between(data, axis + 1, rank) * tactics::element_bytes(problem.in(0))};
  launch->wide = are_wide(problem);
  return std::unique_ptr<Launch>(std::move(launch));
}

struct ElementsLaunch final : Launch {
  kernels::GatherElements elements;
  bool wide = true;
  Result<void> run(const LaunchArgs& args) const override {
    return as_result("GatherElements", gather_elements(elements, args.inputs[0].data, indices_of(args, wide),
                                                       args.outputs[0].data, args.threads));
  }
};

Result<std::unique_ptr<Launch>> prepare_elements(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto data = problem.in_dims(0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(problem.attrs.as<GatherAttrs>().axis, problem.in(0).rank(), "axis"));
  auto launch = std::make_unique<ElementsLaunch>();
  launch->elements = {problem.in_dims(1), strides_of(data), data[static_cast<size_t>(axis)], static_cast<size_t>(axis),
                      tactics::element_bytes(problem.in(0))};
  launch->wide = are_wide(problem);
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int64_t>(i) != axis && launch->elements.dims[i] > data[i]) {
      return bad_data("GatherElements: indices are larger than the data in axis {}", i);
    }
  }
  return std::unique_ptr<Launch>(std::move(launch));
}

struct TuplesLaunch final : Launch {
  kernels::IndexTuples tuples;
  int64_t slice_bytes = 0;
  bool wide = true;
  Result<void> run(const LaunchArgs& args) const override {
    return as_result("GatherND", gather_tuples(tuples, slice_bytes, args.inputs[0].data, indices_of(args, wide),
                                               args.outputs[0].data, args.threads));
  }
};

Result<std::unique_ptr<Launch>> prepare_tuples(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto data = problem.in_dims(0);
  const auto indices = problem.in_dims(1);
  const int64_t batch = problem.attrs.as<GatherNDAttrs>().batch_dims;
  const int64_t bytes = tactics::element_bytes(problem.in(0));
  const int64_t length = indices.back();
  auto launch = std::make_unique<TuplesLaunch>();
  auto& tuples = launch->tuples;
  tuples.count = count_between(indices, 0, problem.in(1).rank() - 1);
  const int64_t batches = count_between(indices, 0, batch);
  if (batches != count_between(data, 0, batch)) return bad_data("GatherND: the batch dimensions differ");
  tuples.tuples_per_batch = batches == 0 ? 1 : std::max<int64_t>(tuples.count / batches, 1);
  tuples.batch_stride = count_between(data, batch, problem.in(0).rank()) * bytes;
  const auto strides = strides_of(data);
  for (int64_t k = batch; k < batch + length; ++k) {
    tuples.sizes.push_back(data[static_cast<size_t>(k)]);
    tuples.strides.push_back(strides[static_cast<size_t>(k)] * bytes);
  }
  launch->slice_bytes = count_between(data, batch + length, problem.in(0).rank()) * bytes;
  launch->wide = are_wide(problem);
  return std::unique_ptr<Launch>(std::move(launch));
}

constexpr tactics::Tactic tactic_of(std::string_view name, std::string_view op,
                                    Result<std::unique_ptr<Launch>> (*prepare)(const PrepareArgs&)) {
  return {.name = name,
          .numerics = tactics::Numerics::Exact,
          .op = op,
          .why_not = tactics::why_not_bytes,
          .prepare = prepare};
}
constexpr tactics::Tactic kRows = tactic_of("Gather.cpu.rows", "Gather", prepare_rows);
constexpr tactics::Tactic kElements = tactic_of("GatherElements.cpu.elements", "GatherElements", prepare_elements);
constexpr tactics::Tactic kTuples = tactic_of("GatherND.cpu.slices", "GatherND", prepare_tuples);

}  // namespace

std::span<const tactics::Tactic* const> gather_cpu_tactics() {
  static constexpr std::array kTactics = {&kRows, &kElements, &kTuples};
  return kTactics;
}

}  // namespace strop::ops
