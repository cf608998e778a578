#include "runtime/program.h"

namespace strop::runtime {
namespace {

using plan::kNone;

Result<ops::Attrs> load_attrs(const ops::Operator& op, const std::vector<plan::AttrDesc>& descs) {
  ops::Attrs attrs = op.make_attrs();
  const auto prototypes = attrs.fields();
  for (const plan::AttrDesc& desc : descs) {
    const ops::FieldValue* prototype = nullptr;
    for (const auto& field : prototypes) {
      if (field.name == desc.name) prototype = &field.value;
    }
    if (!prototype) return error(ErrorCode::InvalidEngine, "operator {} has no attribute '{}'", op.name, desc.name);
    auto value = ops::parse_field(desc.text, *prototype);
    if (!value.ok())
      return error(ErrorCode::InvalidEngine, "operator {}, attribute '{}': {}", op.name, desc.name,
                   value.error().message);
    STROP_ASSIGN(attrs, attrs.with(desc.name, *value));
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
  STROP_ASSIGN(loaded.config, tactics::Config::parse(variant.config));
  return loaded;
}

Result<ProgramStep> load_step(const plan::Plan& plan, const plan::Step& step, const ops::Catalogue& operators,
                              const tactics::TacticList& tactics) {
  ProgramStep loaded;
  if (step.kind != plan::StepKind::Launch && step.kind != plan::StepKind::Generic) return loaded;
  loaded.op = operators.find(step.op);
  if (!loaded.op) return error(ErrorCode::InvalidEngine, "operator '{}' is not part of this build of Strop", step.op);
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
  STROP_CHECK(program->weights.size() == plan->weights.size());
  for (const plan::Block& block : plan->blocks) {
    auto& steps = program->steps.emplace_back();
    for (const plan::Step& step : block.steps) {
      auto loaded = load_step(*plan, step, operators, tactics);
      if (!loaded.ok())
        return in_context(loaded.error(), fmt::format("step for node '{}'",
                                                      step.onnx_nodes.empty() ? step.op : step.onnx_nodes.front()));
      steps.push_back(std::move(*loaded));
    }
  }
  program->plan = std::move(plan);
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace strop::runtime
