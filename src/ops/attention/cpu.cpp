#include <algorithm>
#include <array>

#include "kernels/attention/attention.h"
#include "ops/attention/attention.h"
#include "ops/families.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::AttentionMask;
using kernels::AttentionShape;
using tactics::LaunchArgs;
using tactics::Problem;

constexpr size_t kMaxMasks = 4;

std::optional<std::string> why_not(const Problem& problem) {
  if (problem.outputs.size() > 1) return "the scores are wanted";
  if (problem.inputs.size() > kAttentionMaskInput + kMaxMasks) return "too many masks";
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    if (!problem.has_input(i)) continue;
    const TensorType& type = problem.in(i);
    const bool mask = i >= kAttentionMaskInput && type.dtype == DType::Bool;
    if (type.dtype != DType::F32 && !mask) return "only f32";
    if (!type.has_rank() || !(type.layout == Layout())) return "an operand's rank is not known, or it is blocked";
  }
  return std::nullopt;
}

class AttentionLaunch final : public tactics::Launch {
 public:
  AttentionShape shape;
  int64_t heads = 1, group = 1;  // query heads, and how many share one of k and v
  int64_t part_rows = kernels::kAttentionMaxRows;
  int threads = 1;
  HeadStrides q, k, v, out;
  struct Mask {
    size_t input;
    HeadStrides at;
    bool is_bool;
  };
  std::vector<Mask> masks;

  int64_t workspace_bytes() const override { return kernels::attention_workspace_bytes(shape) * threads; }

  Result<void> run(const LaunchArgs& args) const override {
    if (shape.m * shape.e == 0) return {};
    const int64_t parts = (shape.m + part_rows - 1) / part_rows;
    const int64_t tasks = static_cast<int64_t>(out.batch.size()) * heads * parts;
    args.threads.run(tasks, [&](int64_t task, int worker) {
      run_part(args, static_cast<size_t>(task / parts / heads), task / parts % heads, task % parts, worker);
    });
    return {};
  }

 private:
  void run_part(const LaunchArgs& args, size_t batch, int64_t head, int64_t part, int worker) const {
    const auto at = [&](size_t input, const HeadStrides& strides, int64_t h) {
      return args.inputs[input].as<const float>() + strides.batch[batch] + h * strides.head;
    };
    std::array<AttentionMask, kMaxMasks> of_head;
    for (size_t i = 0; i < masks.size(); ++i) {
      const Mask& mask = masks[i];
      const int64_t first = mask.at.batch[batch] + head * mask.at.head;
      const auto* bytes = args.inputs[mask.input].as<const std::byte>() + first * (mask.is_bool ? 1 : 4);
      of_head[i] = {bytes, mask.at.row, mask.at.column, mask.is_bool};
    }
    const kernels::AttentionHead call{at(0, q, head),
                                      at(1, k, head / group),
                                      at(2, v, head / group),
                                      args.outputs[0].as<float>() + out.batch[batch] + head * out.head,
                                      {of_head.data(), masks.size()}};
    auto* scratch = static_cast<std::byte*>(args.workspace) + worker * kernels::attention_workspace_bytes(shape);
    const int64_t first = part * part_rows;
    kernels::attend(shape, call, first, std::min(part_rows, shape.m - first), scratch);
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<AttentionAttrs>();
  STROP_ASSIGN(const AttentionDims dims,
               attention_dims(attrs, problem.in(0).dims(), problem.in(1).dims(), problem.in(2).dims()));
  const auto batch = *as_constants(dims.batch);
  auto launch = std::make_unique<AttentionLaunch>();
  launch->heads = dims.heads.constant();
  launch->group = launch->heads / std::max<int64_t>(dims.kv_heads.constant(), 1);
  launch->q = head_strides(problem.in_dims(0), attrs.q_heads_inner, batch);
  launch->k = head_strides(problem.in_dims(1), attrs.k_heads_inner, batch);
  launch->v = head_strides(problem.in_dims(2), attrs.v_heads_inner, batch);
  launch->out = head_strides(problem.out_dims(), attrs.out_heads_inner, batch);
  if (attrs.k_transposed) std::swap(launch->k.row, launch->k.column);
  for (size_t i = kAttentionMaskInput; i < problem.inputs.size(); ++i) {
    if (!problem.has_input(i)) continue;
    launch->masks.push_back({i, head_strides(problem.in_dims(i), false, batch), problem.in(i).dtype == DType::Bool});
  }
  AttentionShape& shape = launch->shape;
  shape.m = dims.m.constant();
  shape.n = dims.n.constant();
  shape.d = dims.d.constant();
  shape.e = dims.e.constant();
  shape.q_row = launch->q.row;
  shape.k_row = launch->k.row;
  shape.k_column = launch->k.column;
  shape.v_row = launch->v.row;
  shape.out_row = launch->out.row;
  shape.scale = static_cast<float>(attrs.scale);
  shape.softcap = static_cast<float>(attrs.softcap);
  shape.causal = attrs.causal;
  if (attrs.causal) shape.causal_offset = attrs.causal_offset.constant();
  shape.zero_if_masked = attrs.zero_if_masked;
  launch->threads = args.threads;
  // Long parts make the most of packed keys; short ones keep every thread busy.
  const int64_t heads = static_cast<int64_t>(launch->out.batch.size()) * launch->heads;
  const int64_t wanted =
      shape.m * heads / (int64_t{args.threads} * 2) / kernels::kAttentionRowBlock * kernels::kAttentionRowBlock;
  launch->part_rows = std::clamp(wanted, kernels::kAttentionRowBlock, kernels::kAttentionMaxRows);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kTiles{
    .name = "Attention.cpu.tiles",
    .op = "Attention",
    .why_not = why_not,
    .prepare = prepare,
};

}  // namespace

std::span<const tactics::Tactic* const> attention_cpu_tactics() {
  static constexpr std::array kTactics = {&kTiles};
  return kTactics;
}

}  // namespace strop::ops
