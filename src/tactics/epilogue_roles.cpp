#include "tactics/epilogue_roles.h"

#include <array>

#include "base/check.h"

namespace strop::tactics {
namespace {

using ops::EpilogueOperand;

constexpr size_t kMaxOperands = 16;

std::optional<EpilogueOperand> classify(const Problem& problem, const EpilogueSite& site, size_t input) {
  const TensorType& type = problem.in(input);
  if (type.dtype != DType::F32 || !type.has_rank()) return std::nullopt;
  return ops::classify_epilogue_operand(type.dims(), problem.out().dims(), site.channel_axis);
}

bool resolve_simple(const Problem& problem, const EpilogueSite& site, EpilogueRoles& roles) {
  const auto simple = ops::match_simple_epilogue(site.program);
  if (!simple) return false;
  roles.lo = static_cast<float>(simple->lo);
  roles.hi = static_cast<float>(simple->hi);
  for (const int32_t operand : simple->added) {
    const size_t input = site.first_operand + static_cast<size_t>(operand) - 1;
    const auto kind = classify(problem, site, input);
    int32_t* role = kind == EpilogueOperand::Element   ? &roles.residual
                    : kind == EpilogueOperand::Channel ? &roles.bias
                                                       : nullptr;
    if (!role || *role >= 0 || (role == &roles.bias && site.has_bias)) return false;
    *role = static_cast<int32_t>(input);
  }
  return true;
}

}  // namespace

std::optional<std::string> resolve_epilogue(const Problem& problem, const EpilogueSite& site, EpilogueRoles& roles) {
  if (resolve_simple(problem, site, roles)) return std::nullopt;
  roles = EpilogueRoles();
  roles.general = true;
  if (site.channel_axis + 1 != static_cast<size_t>(problem.out().rank()))
    return "a general epilogue needs channels last";
  if (static_cast<size_t>(site.program.input_count) > kMaxOperands) return "the epilogue has too many operands";
  for (int32_t operand = 1; operand < site.program.input_count; ++operand) {
    const auto kind = classify(problem, site, site.first_operand + static_cast<size_t>(operand) - 1);
    if (!kind) return "an epilogue operand does not lie along the result, its rows or its channels";
    roles.operands.push_back(*kind);
  }
  return ops::tiles_why_not(site.program);
}

TileEpilogue::TileEpilogue(const EpilogueSite& site, const EpilogueRoles& roles, int64_t channels)
    : operands_(roles.operands), first_operand_(site.first_operand), channels_(channels) {
  std::vector<ops::TileAccess> accesses = {{1, nullptr}};
  for (const EpilogueOperand kind : operands_) {
    const bool moves = kind == EpilogueOperand::Element || kind == EpilogueOperand::Channel;
    accesses.push_back({moves ? 1 : 0, nullptr});
  }
  tiles_ = ops::make_tile_program(site.program, accesses, kernels::best_cpu_target());
  STROP_CHECK(tiles_, "an epilogue with too many values alive at once");
}

void TileEpilogue::apply(const LaunchArgs& args, const Block& block) const {
  std::array<const void*, kMaxOperands> operands{};
  for (int64_t i = 0; i < block.rows; ++i) {
    float* row = block.data + i * block.pitch;
    operands[0] = row;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Buffer& buffer = args.inputs[first_operand_ + k];
      const int64_t at = block.row + i;
      int64_t offset = 0;
      if (operands_[k] == EpilogueOperand::Element)
        offset = at * (buffer.pitch ? buffer.pitch : channels_) + block.column;
      if (operands_[k] == EpilogueOperand::Channel) offset = block.column;
      if (operands_[k] == EpilogueOperand::Row) offset = at;
      operands[k + 1] = buffer.as<const float>() + offset;
    }
    void* results[] = {row};
    tiles_->run(operands.data(), results, block.columns);
  }
}

}  // namespace strop::tactics
