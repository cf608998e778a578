// The semantic check of a plan: after it, running needs no bounds checks of its own on indices.
#include <algorithm>
#include <memory>

#include "plan/block_check.h"
#include "plan/extent.h"

namespace strop::plan {
namespace {

constexpr int kMaxNesting = 64;  // regions in regions: each is a stack frame of the run

Error fail(std::string_view what) { return error(ErrorCode::InvalidEngine, "plan: {}", what); }

/// Which block's step runs each block. Regions come after the block that runs them.
struct Nesting {
  std::vector<int32_t> owner;
  std::vector<int> depth;
};

Result<Nesting> nesting_of(const Plan& plan) {
  Nesting nesting{std::vector<int32_t>(plan.blocks.size(), kNone), std::vector<int>(plan.blocks.size(), 0)};
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    if (i > 0 && nesting.owner[i] == kNone) return fail(fmt::format("no step before block {} runs it", i));
    for (const Step& step : plan.blocks[i].steps) {
      for (const int32_t block : step.blocks) {
        const auto region = static_cast<size_t>(block);
        if (block <= static_cast<int32_t>(i) || region >= plan.blocks.size())
          return fail(fmt::format("block {} runs block {} of {}", i, block, plan.blocks.size()));
        if (nesting.owner[region] != kNone) return fail(fmt::format("block {} is run by two steps", block));
        nesting.owner[region] = static_cast<int32_t>(i);
        nesting.depth[region] = nesting.depth[i] + 1;
        if (nesting.depth[region] > kMaxNesting)
          return fail(fmt::format("regions nested more than {} deep", kMaxNesting));
      }
    }
  }
  return nesting;
}

Result<void> check_weights(const Plan& plan) {
  for (const WeightDesc& weight : plan.weights) {
    const auto bad = [&](std::string_view what) { return fail(fmt::format("weight '{}': {}", weight.name, what)); };
    int64_t count = 1;
    for (const int64_t dim : weight.dims) {
      if (dim < 0) return bad(fmt::format("a dimension of {}", dim));
      if (dim > 0 && count > kMaxElements / dim) return bad(fmt::format("more than {} elements", kMaxElements));
      count *= std::max<int64_t>(dim, 1);
    }
    if (weight.dtype == DType::Undefined || static_cast<int>(weight.dtype) >= kDTypeCount)
      return bad(fmt::format("element type {} is not known", static_cast<int>(weight.dtype)));
  }
  return {};
}

}  // namespace

Result<void> verify(const Plan& plan) {
  if (plan.blocks.empty()) return fail("it has no block");
  if (plan.devices.empty()) return fail("it names no device");
  STROP_TRY(check_weights(plan));
  STROP_ASSIGN(const Nesting nesting, nesting_of(plan));
  std::vector<std::unique_ptr<BlockCheck>> checks;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const BlockCheck* outer = i == 0 ? nullptr : checks[static_cast<size_t>(nesting.owner[i])].get();
    checks.push_back(std::make_unique<BlockCheck>(plan, i, outer));
    STROP_TRY(checks.back()->check_declarations());
    STROP_TRY(checks.back()->check_steps());
  }
  return {};
}

}  // namespace strop::plan
