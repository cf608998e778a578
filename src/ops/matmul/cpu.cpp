#include <algorithm>
#include <array>

#include "kernels/gemm/gemm.h"
#include "ops/families.h"
#include "ops/matmul/cpu_integer.h"
#include "ops/matmul/matmul.h"
#include "tactics/epilogue_roles.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::GemmConfig;
using kernels::GemmProblem;
using tactics::Config;
using tactics::PackRequest;
using tactics::Problem;

std::optional<std::string> roles_of(const Problem& problem, tactics::EpilogueRoles& roles) {
  const auto& attrs = problem.attrs.as<MatMulAttrs>();
  return tactics::resolve_epilogue(
      problem, {attrs.epilogue, kMatMulEpilogueInput, static_cast<size_t>(problem.out().rank()) - 1}, roles);
}

std::optional<std::string> why_not(const Problem& problem) {
  for (const size_t operand : {0, 1}) {
    if (problem.in(operand).dtype != DType::F32) return "only f32";
    if (!problem.in(operand).has_rank()) return "an operand's rank is not known";
  }
  if (problem.out().dtype != DType::F32 || !problem.out().has_rank()) return "only f32 results of known rank";
  tactics::EpilogueRoles roles;
  return roles_of(problem, roles);
}

// Elements before the last two axes.
Dim batch_of(const TensorType& type) { return product(Dims(type.dims().begin(), type.dims().end() - 2)); }

// B is packed ahead if it is one constant matrix.
bool packs_b(const Problem& problem) {
  return problem.is_constant(1) && batch_of(problem.in(1)) == Dim(1) && problem.in(1).is_static() &&
         problem.in(1).count().constant() > 0;
}

// Parameters: "vectors" (width of a panel of B in vector registers) and "copy_a" (as in GemmConfig; 0 or 1). What is
// absent is the kernel's default for the shapes at hand.
GemmConfig kernel_config(const GemmProblem& gemm, const Config& config) {
  const auto vectors = static_cast<int>(config.get("vectors", kernels::kDefaultVectors));
  GemmConfig kernel = kernels::default_config(gemm, kernels::best_cpu_target(), vectors);
  kernel.copy_a = config.get("copy_a", kernel.copy_a) != 0;
  return kernel;
}

struct Matrix {
  int64_t k = 0, n = 0;
};

Matrix matrix_b(const Problem& problem) {
  const auto dims = problem.in_dims(1);
  const bool transposed = problem.attrs.as<MatMulAttrs>().trans_b;
  const int64_t rows = dims[dims.size() - 2];
  const int64_t columns = dims[dims.size() - 1];
  return transposed ? Matrix{columns, rows} : Matrix{rows, columns};
}

std::vector<PackRequest> packs(const Problem& problem, const Config& config) {
  if (!packs_b(problem)) return {};
  const Matrix b = matrix_b(problem);
  const GemmConfig kernel = kernel_config(GemmProblem{64, b.n, b.k}, config);
  const auto bytes = static_cast<int64_t>(kernels::packed_b_bytes(b.k, b.n, kernel));
  const bool transposed = problem.attrs.as<MatMulAttrs>().trans_b;
  return {{1, bytes, fmt::format("panels nr={} of {}x{}{}", kernel.nr, b.k, b.n, transposed ? " transposed" : "")}};
}

void pack(const Problem& problem, const Config& config, const PackRequest&, const Tensor& source,
          std::span<std::byte> packed) {
  const Matrix b = matrix_b(problem);
  const GemmConfig kernel = kernel_config(GemmProblem{64, b.n, b.k}, config);
  kernels::pack_b({b.k, b.n, problem.attrs.as<MatMulAttrs>().trans_b, 0, source.data<float>(),
                   reinterpret_cast<float*>(packed.data())},
                  kernel);
}

/// One or several runs of the kernel: several where the batch does not broadcast with one stride per operand.
class GemmLaunch final : public tactics::Launch {
 public:
  GemmProblem problem;
  GemmConfig config;
  tactics::EpilogueRoles roles;
  tactics::TileEpilogue tiles;
  size_t workspace = 0;
  struct Item {
    int64_t a, b, c;  // element offsets
  };
  std::vector<Item> items;

  int64_t workspace_bytes() const override { return static_cast<int64_t>(workspace); }

  Result<void> run(const tactics::LaunchArgs& args) const override {
    const auto operand = [&](int32_t index) {
      return index < 0 ? nullptr : args.inputs[static_cast<size_t>(index)].as<const float>();
    };
    for (const Item& item : items) {
      kernels::GemmEpilogue epilogue;
      epilogue.bias = operand(roles.bias);
      if (roles.residual >= 0) {
        epilogue.residual = operand(roles.residual) + item.c;
        epilogue.ldr = problem.n;
        epilogue.stride_r = problem.m * problem.n;
      }
      epilogue.lo = roles.lo;
      epilogue.hi = roles.hi;
      Context context{*this, args, item.c / std::max<int64_t>(problem.n, 1)};
      if (!tiles.empty()) {
        epilogue.apply = apply_tiles;
        epilogue.context = &context;
      }
      kernels::run_gemm(problem, config,
                        {args.inputs[0].as<const float>() + item.a, args.inputs[1].as<const float>() + item.b,
                         args.outputs[0].as<float>() + item.c, args.workspace, workspace},
                        epilogue, args.threads);
    }
    return {};
  }

 private:
  struct Context {
    const GemmLaunch& launch;
    const tactics::LaunchArgs& args;
    int64_t first_row;  // of the item among all rows of the result
  };
  static void apply_tiles(void* context, const kernels::GemmBlock& block) {
    const auto& [launch, args, first_row] = *static_cast<const Context*>(context);
    const int64_t row = first_row + block.batch * launch.problem.m + block.row;
    launch.tiles.apply(args, {block.c, block.ldc, row, block.col, block.rows, block.cols});
  }
};

int64_t count_before_matrix(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (size_t i = 0; i + 2 < dims.size(); ++i) count *= dims[i];
  return count;
}

/// A problem with constant shapes as calls of the kernel.
struct Calls {
  GemmProblem gemm;
  std::vector<GemmLaunch::Item> items;
};

Calls calls_of(const Problem& problem, bool packed_b) {
  const auto& attrs = problem.attrs.as<MatMulAttrs>();
  const auto a = problem.in_dims(0);
  const auto b = problem.in_dims(1);
  const auto c = problem.out_dims();
  Calls calls;
  GemmProblem& gemm = calls.gemm;
  gemm.m = c[c.size() - 2];
  gemm.n = c[c.size() - 1];
  gemm.k = a[a.size() - (attrs.trans_a ? 2 : 1)];
  gemm.trans_a = attrs.trans_a;
  gemm.trans_b = attrs.trans_b;
  gemm.packed_b = packed_b;
  const int64_t batch = count_before_matrix(c);
  const int64_t batch_a = count_before_matrix(a);
  const int64_t batch_b = count_before_matrix(b);
  if (batch_b == 1 && batch_a == batch && !attrs.trans_a) {
    gemm.m *= batch;  // one B for all: the batch is just more rows
    calls.items = {{0, 0, 0}};
  } else if ((batch_a == batch || batch_a == 1) && (batch_b == batch || batch_b == 1)) {
    gemm.batch = batch;
    gemm.stride_a = batch_a == 1 ? 0 : gemm.m * gemm.k;
    gemm.stride_b = batch_b == 1 ? 0 : gemm.k * gemm.n;
    gemm.stride_c = gemm.m * gemm.n;
    calls.items = {{0, 0, 0}};
  } else {
    for (int64_t item = 0; item < batch; ++item) {
      calls.items.push_back({operand_matrix(item, c, a) * gemm.m * gemm.k, operand_matrix(item, c, b) * gemm.k * gemm.n,
                             item * gemm.m * gemm.n});
    }
  }
  if (gemm.m * gemm.n * gemm.batch == 0) calls.items.clear();
  return calls;
}

/// The kernel's candidates as parameters; of a problem whose shapes vary, only the default, which follows the shapes.
std::vector<Config> configs(const Problem& problem) {
  std::vector<Config> result{Config{}};
  if (!problem.in(0).is_static() || !problem.in(1).is_static() || !problem.out().is_static()) return result;
  const GemmProblem gemm = calls_of(problem, packs_b(problem)).gemm;
  const auto candidates = kernels::candidate_configs(gemm);
  const GemmConfig& first = candidates.front();
  for (const GemmConfig& candidate : std::span(candidates).subspan(1)) {
    Config config;
    if (candidate.nr != first.nr) {
      config.values.emplace_back("vectors", candidate.nr / kernels::vector_lanes(candidate.target));
    } else {
      config.values.emplace_back("copy_a", candidate.copy_a);
    }
    result.push_back(std::move(config));
  }
  return result;
}

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<MatMulAttrs>();
  auto launch = std::make_unique<GemmLaunch>();
  roles_of(problem, launch->roles);
  Calls calls = calls_of(problem, args.packed(1));
  launch->problem = calls.gemm;
  launch->items = std::move(calls.items);
  const auto columns_axis = static_cast<size_t>(problem.out().rank()) - 1;
  if (launch->roles.general) {
    launch->tiles =
        tactics::TileEpilogue({attrs.epilogue, kMatMulEpilogueInput, columns_axis}, launch->roles, launch->problem.n);
  }
  launch->config = kernel_config(launch->problem, args.config);
  launch->workspace = kernels::gemm_workspace_bytes(launch->problem, launch->config, args.threads);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kPackedGemm{
    .name = "MatMul.cpu.packed_gemm",
    .version = 2,
    .op = "MatMul",
    .why_not = why_not,
    .configs = configs,
    .packs = packs,
    .pack = pack,
    .prepare = prepare,
};

}  // namespace

std::span<const tactics::Tactic* const> matmul_cpu_tactics() {
  static const std::array<const tactics::Tactic*, 2> kTactics = {&kPackedGemm, &integer_matmul_tactic()};
  return kTactics;
}

}  // namespace strop::ops
