// Products of integers that fit in 16 bits, which quantised values less their zero points do. Whether they fit is seen
// while they are copied; other values are multiplied plainly.
#include "ops/matmul/cpu_integer.h"

#include <algorithm>
#include <atomic>

#include "kernels/gemm_integer/gemm_integer.h"
#include "ops/matmul/matmul.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::IntegerMatrix;
using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PackRequest;
using tactics::PrepareArgs;
using tactics::Problem;

std::optional<std::string> why_not(const Problem& problem) {
  if (problem.in(0).dtype != DType::I32 || problem.out().dtype != DType::I32) return "only i32";
  if (!problem.in(0).has_rank() || !problem.in(1).has_rank()) return "an operand's rank is not known";
  if (!problem.attrs.as<MatMulAttrs>().epilogue.empty()) return "there is an epilogue";
  return std::nullopt;
}

// The matrix that starts at `data` in an operand of these dimensions, as [rows, columns] of the product.
IntegerMatrix matrix(const std::vector<int64_t>& dims, bool transposed, const int32_t* data) {
  const int64_t rows = dims[dims.size() - 2];
  const int64_t columns = dims[dims.size() - 1];
  return transposed ? IntegerMatrix{data, columns, rows, 1, columns} : IntegerMatrix{data, rows, columns, columns, 1};
}

bool packs_b(const Problem& problem) {
  if (!problem.is_constant(1) || !problem.in(1).is_static()) return false;
  const auto dims = problem.in_dims(1);
  const int64_t matrix_elements = dims[dims.size() - 2] * dims[dims.size() - 1];
  if (matrix_elements == 0 || element_count(dims) != matrix_elements) return false;
  const auto values = problem.constants[1]->span<int32_t>();
  return std::all_of(values.begin(), values.end(), [](int32_t v) { return v >= INT16_MIN && v <= INT16_MAX; });
}

int64_t panels(int64_t n) { return (n + kernels::kIntegerPanel - 1) / kernels::kIntegerPanel; }

std::vector<PackRequest> packs(const Problem& problem, const tactics::Config&) {
  if (!packs_b(problem)) return {};
  const IntegerMatrix b = matrix(problem.in_dims(1), problem.attrs.as<MatMulAttrs>().trans_b, nullptr);
  return {
      {1, kernels::packed_integer_b_values(b.rows, b.columns) * 2,
       fmt::format("i16 panels of {} columns, pairs of rows, of {}x{}", kernels::kIntegerPanel, b.rows, b.columns)}};
}

void pack(const Problem& problem, const tactics::Config&, const PackRequest&, const Tensor& source,
          std::span<std::byte> packed) {
  const IntegerMatrix b = matrix(problem.in_dims(1), problem.attrs.as<MatMulAttrs>().trans_b, source.data<int32_t>());
  kernels::pack_integer_b(b, 0, panels(b.columns), reinterpret_cast<int16_t*>(packed.data()));
}

class IntegerLaunch final : public Launch {
 public:
  explicit IntegerLaunch(const PrepareArgs& args) : b_is_packed_(args.packed(1)) {
    const auto& attrs = args.problem.attrs.as<MatMulAttrs>();
    const auto a = args.problem.in_dims(0);
    const auto b = args.problem.in_dims(1);
    const auto c = args.problem.out_dims();
    a_ = matrix(a, attrs.trans_a, nullptr);
    b_ = matrix(b, attrs.trans_b, nullptr);
    const int64_t batch = a_.rows * b_.columns == 0 ? 0 : element_count(c) / (a_.rows * b_.columns);
    const int64_t batch_a = a_.rows * a_.columns == 0 ? 0 : element_count(a) / (a_.rows * a_.columns);
    const bool one_b = b.size() == 2 || std::all_of(b.begin(), b.end() - 2, [](int64_t d) { return d == 1; });
    if (one_b && batch_a == batch && !attrs.trans_a && batch > 1) {
      a_.rows *= batch;  // one B for all: the batch is just more rows
      items_ = {{0, 0}};
    } else {
      for (int64_t i = 0; i < batch; ++i) items_.push_back({operand_matrix(i, c, a), operand_matrix(i, c, b)});
    }
    a_values_ = (a_.rows * kernels::integer_depth(a_.columns) + 31) / 32 * 32;
  }

  int64_t workspace_bytes() const override {
    return 2 * (a_values_ + (b_is_packed_ ? 0 : kernels::packed_integer_b_values(b_.rows, b_.columns)));
  }

  Result<void> run(const LaunchArgs& args) const override {
    for (size_t i = 0; i < items_.size(); ++i) run_item(args, i);
    return {};
  }

 private:
  struct Item {
    int64_t a, b;  // which matrix of each operand
  };

  void run_item(const LaunchArgs& args, size_t index) const {
    const auto& item = items_[index];
    IntegerMatrix a = a_;
    IntegerMatrix b = b_;
    a.data = args.inputs[0].as<const int32_t>() + item.a * a.rows * a.columns;
    b.data = b_is_packed_ ? nullptr : args.inputs[1].as<const int32_t>() + item.b * b.rows * b.columns;
    int32_t* c = args.outputs[0].as<int32_t>() + static_cast<int64_t>(index) * a.rows * b.columns;
    auto* narrow = static_cast<int16_t*>(args.workspace);
    auto* packed = b_is_packed_ ? args.inputs[1].as<int16_t>() : narrow + a_values_;
    constexpr int64_t kValues = 32768;  // to copy per task
    std::atomic<bool> fits = true;
    parallel_for(args.threads, a.rows, kValues / (a.columns + 1) + 1, [&](int64_t first, int64_t last, int) {
      if (!kernels::narrow_rows(a, first, last, narrow)) fits = false;
    });
    const int64_t all = panels(b.columns);
    if (!b_is_packed_) {
      const int64_t per_panel = kernels::kIntegerPanel * (b.rows + 1);
      parallel_for(args.threads, all, kValues / per_panel + 1, [&](int64_t first, int64_t last, int) {
        if (!kernels::pack_integer_b(b, first, last, packed)) fits = false;
      });
    }
    if (!fits) return run_wide(args, {a, b, b_is_packed_ ? packed : nullptr, c});
    constexpr int64_t kProducts = 1 << 18;  // per task
    const int64_t per_panel = a.rows * (a.columns + 1) * kernels::kIntegerPanel;
    const auto target = kernels::best_cpu_target();
    parallel_for(args.threads, all, kProducts / per_panel + 1, [&](int64_t first, int64_t last, int) {
      kernels::multiply_panels(target, {a.rows, b.columns, a.columns, narrow, packed, c}, first, last);
    });
  }

  static void run_wide(const LaunchArgs& args, const kernels::WideProduct& product) {
    parallel_for(args.threads, product.a.rows, 1,
                 [&](int64_t first, int64_t last, int) { kernels::multiply_wide(product, first, last); });
  }

  bool b_is_packed_;
  IntegerMatrix a_, b_;
  std::vector<Item> items_;
  int64_t a_values_ = 0;
};

}  // namespace

constexpr tactics::Tactic kIntegerMatMul = {
    .name = "MatMul.cpu.integer",
    .numerics = tactics::Numerics::Exact,
    .op = "MatMul",
    .why_not = why_not,
    .packs = packs,
    .pack = pack,
    .prepare = [](const PrepareArgs& args) -> Result<std::unique_ptr<Launch>> {
      return std::unique_ptr<Launch>(std::make_unique<IntegerLaunch>(args));
    },
};

const tactics::Tactic& integer_matmul_tactic() { return kIntegerMatMul; }

}  // namespace strop::ops
