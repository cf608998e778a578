#include "runtime/program.h"

#include "runtime/step_check.h"
#include "tensor/dim_overflow.h"

namespace strop::runtime {
namespace {

using plan::kNone;

Result<ops::Attrs> load_attrs(const ops::Operator& op, const std::vector<plan::AttrDesc>& descs) {
  ops::Attrs attrs = op.make_attrs();
  const auto prototypes = attrs.fields();
  for (const plan::AttrDesc& desc : descs) try {
      const ops::FieldValue* prototype = nullptr;
      for (const auto& field : prototypes) {
        if (field.name == desc.name) prototype = &field.value;
      }
      if (!prototype)
        return error(ErrorCode::InvalidEngine, "operator {} has no attribute '{}': build the engine again", op.name,
                     desc.name);
      auto value = ops::parse_field(desc.text, *prototype);
      if (!value.ok())
        return error(ErrorCode::InvalidEngine, "operator {}, attribute '{}': {}", op.name, desc.name,
                     value.error().message);
      auto changed = attrs.with(desc.name, *value);
      if (!changed.ok()) return error(ErrorCode::InvalidEngine, "operator {}: {}", op.name, changed.error().message);
      attrs = std::move(*changed);
    } catch (const DimOverflow&) {
      return error(ErrorCode::InvalidEngine, "operator {}, attribute '{}': a size that leaves 64 bits", op.name,
                   desc.name);
    }
  return attrs;
}

Result<ProgramVariant> load_variant(const plan::Variant& variant, const plan::Step& step,
                                    const tactics::TacticList& tactics) {
  ProgramVariant loaded;
  if (variant.tactic == tactics::reference_tactic_name(step.op)) return loaded;
  loaded.tactic = tactics.find(variant.tactic);
  if (!loaded.tactic)
    return error(ErrorCode::InvalidEngine, "tactic '{}' is not part of this build of Strop: build the engine again",
                 variant.tactic);
  if (loaded.tactic->version != variant.tactic_version) {
    return error(ErrorCode::InvalidEngine,
                 "tactic '{}' has version {} here but the engine was built with version {}: build the engine again",
                 variant.tactic, loaded.tactic->version, variant.tactic_version);
  }
  auto config = tactics::Config::parse(variant.config);
  if (!config.ok()) return error(ErrorCode::InvalidEngine, "tactic '{}': {}", variant.tactic, config.error().message);
  loaded.config = std::move(*config);
  return loaded;
}

Result<ProgramStep> load_step(const plan::Plan& plan, const plan::Step& step, const ops::Catalogue& operators,
                              const tactics::TacticList& tactics) {
  ProgramStep loaded;
  if (step.kind != plan::StepKind::Launch && step.kind != plan::StepKind::Generic) return loaded;
  loaded.op = operators.find(step.op);
  if (!loaded.op)
    return error(ErrorCode::InvalidEngine, "operator '{}' is not part of this build of Strop: build the engine again",
                 step.op);
  static const std::vector<plan::AttrDesc> kNoAttrs;
  STROP_ASSIGN(loaded.attrs,
               load_attrs(*loaded.op, step.attrs == kNone ? kNoAttrs : plan.attrs[static_cast<size_t>(step.attrs)]));
  loaded.symbolic_attrs = !loaded.attrs.symbols().empty();
  for (const plan::LateDesc& late : step.late) loaded.late.push_back({late.field, late.operand});
  for (const plan::Variant& variant : step.variants) {
    STROP_ASSIGN(ProgramVariant found, load_variant(variant, step, tactics));
    loaded.variants.push_back(std::move(found));
  }
  return loaded;
}

}  // namespace

Result<std::shared_ptr<const Program>> make_program(std::shared_ptr<const plan::Plan> plan, std::vector<Tensor> weights,
                                                    const ops::Catalogue& operators,
                                                    const tactics::TacticList& tactics) {
  auto program = std::make_shared<Program>();
  program->weights = std::move(weights);
  program->plan = std::move(plan);
  STROP_CHECK(program->weights.size() == program->plan->weights.size());
  STROP_ASSIGN(const auto types, block_types(*program->plan));
  for (size_t i = 0; i < program->plan->blocks.size(); ++i) {
    auto& steps = program->steps.emplace_back();
    for (const plan::Step& step : program->plan->blocks[i].steps) {
      auto loaded = load_step(*program->plan, step, operators, tactics);
      if (loaded.ok() && loaded->op) {
        const auto checked = check_step({*program, i, step, *loaded, types});
        if (!checked.ok()) loaded = error(checked.error().code, "{}: build the engine again", checked.error().message);
      }
      if (!loaded.ok())
        return in_context(loaded.error(), fmt::format("step for node '{}'",
                                                      step.onnx_nodes.empty() ? step.op : step.onnx_nodes.front()));
      steps.push_back(std::move(*loaded));
    }
  }
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace strop::runtime
