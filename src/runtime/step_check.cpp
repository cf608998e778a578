#include "runtime/step_check.h"

#include <algorithm>

#include "tensor/dim_overflow.h"

namespace strop::runtime {
namespace {

using plan::kNone;

Error refuse(std::string_view what) { return error(ErrorCode::InvalidEngine, "{}", what); }

bool can_be_late(const ops::FieldValue& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<int64_t>(value) ||
         std::holds_alternative<double>(value) || std::holds_alternative<std::vector<int64_t>>(value) ||
         std::holds_alternative<std::vector<double>>(value) || std::holds_alternative<Dim>(value) ||
         std::holds_alternative<Dims>(value) || std::holds_alternative<Tensor>(value);
}

class Checker {
 public:
  explicit Checker(const StepCheck& check)
      : check_(check), step_(check.step), op_(*check.loaded.op), block_(check.program.plan->blocks[check.block]) {}

  Result<void> run() {
    STROP_TRY(check_attrs());
    const BlockTypes& types = check_.types[check_.block];
    for (const int32_t value : step_.inputs) inputs_.push_back(types.of(value));
    for (const int32_t value : step_.outputs) outputs_.push_back(types.of(value));
    STROP_TRY(check_regions());
    // With late attributes inference says little; it is done again when they are there, and so is the check of results.
    if (check_.loaded.late.empty()) STROP_TRY(check_types());
    for (size_t i = 0; i < step_.variants.size(); ++i) STROP_TRY(check_variant(i));
    return {};
  }

 private:
  Result<void> check_attrs() const {
    const auto& symbols = block_.shapes.symbols;
    for (const std::string& symbol : check_.loaded.attrs.symbols()) {
      if (std::ranges::find(symbols, symbol) == symbols.end())
        return refuse(fmt::format("its attributes use dimension '{}', which the block does not have", symbol));
    }
    const auto fields = check_.loaded.attrs.fields();
    for (const ops::LateField& late : check_.loaded.late) {
      const auto field = std::ranges::find(fields, late.field, &ops::NamedField::name);
      if (field == fields.end() || !can_be_late(field->value))
        return refuse(
            fmt::format("operator {} has no attribute '{}' that an operand could give", op_.name, late.field));
    }
    return {};
  }

  Result<void> check_regions() const {
    if (op_.has_regions && step_.kind != plan::StepKind::Generic)
      return refuse(fmt::format("operator {} cannot be launched", op_.name));
    if (!op_.has_regions && !step_.blocks.empty()) return refuse(fmt::format("operator {} has no regions", op_.name));
    return {};
  }

  // What the region returns, if it takes these parameters.
  Result<std::vector<Type>> region(size_t index, const std::vector<Type>& parameters) const {
    if (index >= step_.blocks.size()) return refuse(fmt::format("it needs a region {}", index));
    const auto id = static_cast<size_t>(step_.blocks[index]);
    const plan::Block& inner = check_.program.plan->blocks[id];
    if (parameters.size() != inner.inputs.size())
      return refuse(fmt::format("region {} takes {} values, not {}", index, inner.inputs.size(), parameters.size()));
    std::vector<Type> results;
    for (const plan::PortDesc& port : inner.outputs) results.push_back(check_.types[id].type(port.type));
    return results;
  }

  Result<void> check_types() const {
    ops::InferContext ctx(check_.loaded.attrs, inputs_, outputs_.size(), "?");
    size_t regions_used = 0;
    const auto call = [&](size_t index, const std::vector<Type>& parameters) {
      regions_used = std::max(regions_used, index + 1);
      return region(index, parameters);
    };
    const ops::InferContext::RegionInfer regions(call);
    if (op_.has_regions) ctx.regions = &regions;
    const auto inferred = ops::infer(op_, ctx);
    if (!inferred.ok()) return refuse(fmt::format("operator {}: {}", op_.name, inferred.error().message));
    if (regions_used != step_.blocks.size())
      return refuse(fmt::format("operator {} has {} regions, not {}", op_.name, regions_used, step_.blocks.size()));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].is_none() && !agree(ctx.outputs[i], outputs_[i]))
        return refuse(fmt::format("operator {}: result {} is {}, not {}", op_.name, i, to_string(ctx.outputs[i]),
                                  to_string(outputs_[i])));
    }
    return {};
  }

  Result<void> check_variant(size_t index) const {
    const plan::Variant& variant = step_.variants[index];
    const ProgramVariant& loaded = check_.loaded.variants[index];
    if (!loaded.tactic) {
      if (!variant.config.empty()) return refuse(fmt::format("tactic '{}' has no parameters", variant.tactic));
      return check_packed(variant, {});
    }
    const tactics::Tactic& tactic = *loaded.tactic;
    if (tactic.op != op_.name)
      return refuse(fmt::format("tactic '{}' is for operator {}, not {}", tactic.name, tactic.op, op_.name));
    const std::vector<Tensor> constants = constant_operands(variant);
    const tactics::Problem problem = make_problem(constants);
    if (const auto reason = tactic.why_not(problem))
      return refuse(fmt::format("tactic '{}' does not apply: {}", tactic.name, *reason));
    const auto configs = tactic.configs(problem);
    if (std::ranges::find(configs, tactics::without_threads(loaded.config)) == configs.end())
      return refuse(fmt::format("tactic '{}' has no parameters '{}'", tactic.name, variant.config));
    STROP_TRY(check_packed(variant, tactic.packs(problem, loaded.config)));
    return check_pitches(tactic);
  }

  // Per operand what was constant when the tactic was chosen: weights; for packed ones, whose contents are gone, zeros.
  // Undefined: not constant.
  std::vector<Tensor> constant_operands(const plan::Variant& variant) const {
    std::vector<Tensor> constants(step_.inputs.size());
    if (step_.kind != plan::StepKind::Launch) return constants;
    for (size_t i = 0; i < step_.inputs.size(); ++i) {
      const int32_t id = step_.inputs[i];
      if (id == kNone) continue;
      const plan::ValueDesc& value = block_.values[static_cast<size_t>(id)];
      if (value.storage == plan::Storage::Weight) {
        constants[i] = check_.program.weights[static_cast<size_t>(value.index)];
      } else if (variant.packed[i] != kNone && inputs_[i].tensor.is_static()) {
        const Tensor& packed = check_.program.weights[static_cast<size_t>(variant.packed[i])];
        const auto dims = *as_constants(inputs_[i].tensor.dims());
        // No packing makes anything eight times smaller.
        if (byte_size(inputs_[i].tensor.dtype, element_count(dims)) / 8 <= packed.bytes())
          constants[i] = Tensor(inputs_[i].tensor.dtype, dims);
      }
    }
    return constants;
  }

  tactics::Problem make_problem(const std::vector<Tensor>& constants) const {
    tactics::Problem problem;
    problem.op = &op_;
    problem.attrs = check_.loaded.attrs;
    problem.inputs = inputs_;
    problem.outputs = outputs_;
    problem.ranges = check_.types[check_.block].ranges();
    if (step_.kind == plan::StepKind::Launch) {
      for (const Tensor& constant : constants) problem.constants.push_back(constant.defined() ? &constant : nullptr);
    }
    return problem;
  }

  Result<void> check_packed(const plan::Variant& variant, const std::vector<tactics::PackRequest>& requests) const {
    for (size_t i = 0; i < variant.packed.size(); ++i) {
      const auto request = std::ranges::find(requests, static_cast<int32_t>(i), &tactics::PackRequest::operand);
      const bool wanted = request != requests.end();
      if (wanted != (variant.packed[i] != kNone))
        return refuse(
            fmt::format("tactic '{}' wants operand {} {}", variant.tactic, i, wanted ? "packed" : "as it is"));
      if (!wanted) continue;
      // The recipe says the layout, which depends on the instruction set: equal sizes would not do.
      const std::string& recipe = check_.program.plan->weights[static_cast<size_t>(variant.packed[i])].recipe;
      const std::string wanted_recipe =
          fmt::format("{}@{} {}", variant.tactic, variant.tactic_version, request->recipe);
      if (!recipe.ends_with(wanted_recipe)) {
        return refuse(fmt::format("tactic '{}' wants operand {} packed as '{}', not '{}': build the engine again here",
                                  variant.tactic, i, wanted_recipe, recipe));
      }
      const int64_t bytes = check_.program.weights[static_cast<size_t>(variant.packed[i])].bytes();
      if (bytes != request->bytes)
        return refuse(fmt::format("tactic '{}' wants operand {} packed in {} bytes, not {}", variant.tactic, i,
                                  request->bytes, bytes));
    }
    return {};
  }

  bool is_pitched(int32_t value) const {
    return value != kNone && block_.values[static_cast<size_t>(value)].pitch != kNone;
  }

  Result<void> check_pitches(const tactics::Tactic& tactic) const {
    for (size_t i = 0; i < step_.inputs.size(); ++i) {
      if (is_pitched(step_.inputs[i]) && (i >= 32 || !(tactic.pitched_inputs >> i & 1)))
        return refuse(fmt::format("tactic '{}' does not take operand {} with a pitch", tactic.name, i));
    }
    for (size_t i = 0; i < step_.outputs.size(); ++i) {
      if (is_pitched(step_.outputs[i]) && (i > 0 || !tactic.pitched_output))
        return refuse(fmt::format("tactic '{}' does not write result {} with a pitch", tactic.name, i));
    }
    return {};
  }

  const StepCheck& check_;
  const plan::Step& step_;
  const ops::Operator& op_;
  const plan::Block& block_;
  std::vector<Type> inputs_;
  std::vector<Type> outputs_;
};

}  // namespace

bool agree(const Type& inferred, const Type& planned) {
  if (inferred.kind != planned.kind) return inferred.is_tensor() && planned.kind == TypeKind::Optional;
  if (!inferred.is_tensor()) return true;
  if (inferred.tensor.dtype != planned.tensor.dtype) return false;
  if (!inferred.tensor.has_rank() || !planned.tensor.has_rank()) return true;
  if (inferred.tensor.rank() != planned.tensor.rank()) return false;
  for (int64_t axis = 0; axis < planned.tensor.rank(); ++axis) {
    const auto a = inferred.tensor.dim(axis).as_constant();
    const auto b = planned.tensor.dim(axis).as_constant();
    if (a && b && *a != *b) return false;
  }
  return true;
}

Result<std::vector<BlockTypes>> block_types(const plan::Plan& plan) {
  std::vector<BlockTypes> types;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    try {
      types.emplace_back(plan.blocks[i]);
    } catch (const DimOverflow&) {
      return refuse(fmt::format("plan, block {}: sizes that leave 64 bits", i));
    }
  }
  return types;
}

Result<void> check_step(const StepCheck& check) {
  try {
    return Checker(check).run();
  } catch (const DimOverflow&) {
    return refuse("sizes that leave 64 bits");
  }
}

}  // namespace strop::runtime
